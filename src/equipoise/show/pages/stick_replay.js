/** Plays the walk of a planar biped: legs, torso, masses and ground force, in pixels. */

class StickPlayer extends Playback {
  constructor(root, data) {
    super(root, data.time, root.querySelector("svg.sticks"));
    this.data = data;
    this.part = (name) => root.querySelector(`[data-part=${name}]`);
    this.seek(this.begin);
  }

  /** Numbers of a frame, between two frames where the time is. */
  row() {
    const { time, rows } = this.data;
    let after = time.findIndex((moment) => moment > this.time);
    if (after < 0) return rows[rows.length - 1];
    after = Math.max(after, 1);
    const part = (this.time - time[after - 1]) / (time[after] - time[after - 1]);
    return rows[after - 1].map((value, at) => (1 - part) * value + part * rows[after][at]);
  }

  show() {
    super.show();
    const row = this.row(), point = (at) => [row[2 * at], row[2 * at + 1]];
    const [first, second, hip, torso, firstMass, secondMass] = [0, 1, 2, 3, 4, 5].map(point);
    this.line("first", first, hip);
    this.line("second", second, hip);
    this.line("torso", hip, torso);
    const places = { hip, head: torso, firstMass, secondMass, com: point(6) };
    for (const [name, [x, y]] of Object.entries(places)) this.part(name).setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    this.line("force", point(7), point(8));
    const middle = this.picture.viewBox.baseVal.width / 2;
    this.part("world").setAttribute("transform", `translate(${(middle - hip[0]).toFixed(1)} 0)`);
  }

  line(name, [x, y], [toX, toY]) {
    this.part(name).setAttribute("d", `M${x.toFixed(1)},${y.toFixed(1)}L${toX.toFixed(1)},${toY.toFixed(1)}`);
  }
}

const sticks = document.getElementById("sticks");
document.getElementById("sticks-none").hidden = true;
sticks.hidden = false;
new StickPlayer(sticks, JSON.parse(document.getElementById("sticks-data").textContent));
