/** Time goes by: play, pause and seek with the controls and keys of a replay; the cursors
 * of all plots over time on the page go along. Who draws extends Playback.show(). */

const clamped = (value, low, high) => Math.min(Math.max(value, low), high);

class Playback {
  constructor(root, time, picture) {
    this.find = (selector) => root.querySelector(selector);
    Object.assign(this, { root, picture, frames: time.length, scrub: this.find(".scrub") });
    Object.assign(this, { begin: time[0], end: time[time.length - 1], time: time[0], playing: false });
    this.plots = [...document.querySelectorAll("svg[data-begin]")].map((svg) => new Plot(svg, (moment) => this.seek(moment)));
    Object.assign(this.scrub, { min: this.begin, max: this.end, disabled: this.frames < 2 });
    this.find(".play").disabled = this.frames < 2;
    this.find(".play").addEventListener("click", () => this.play(!this.playing));
    this.scrub.addEventListener("input", () => this.seek(Number(this.scrub.value)));
    root.addEventListener("keydown", (event) => this.key(event));
  }

  /** Obey a key that was pressed on the picture, or the space bar on the slider. */
  key(event, more = {}) {
    const step = (this.end - this.begin) / Math.max(this.frames - 1, 1);
    const actions = {
      " ": () => this.play(!this.playing),
      ArrowLeft: () => this.seek(this.time - step * (event.shiftKey ? 10 : 1)),
      ArrowRight: () => this.seek(this.time + step * (event.shiftKey ? 10 : 1)),
      Home: () => this.seek(this.begin),
      End: () => this.seek(this.end),
      ...more,
    };
    const wanted = event.target === this.picture || (event.target === this.scrub && event.key === " ");
    if (!wanted || event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
  }

  play(on) {
    if (on && this.time >= this.end) this.time = this.begin;
    this.playing = on && this.frames > 1;
    this.last = null;
    this.find(".play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.root.classList.toggle("playing", this.playing);
    this.refresh();
  }

  seek(time) {
    this.time = clamped(time, this.begin, this.end);
    this.last = null;
    this.refresh();
  }

  /** Ask for one picture; several wishes before it are one. */
  refresh() {
    this.wanted ??= requestAnimationFrame((now) => {
      this.wanted = null;
      if (this.playing) this.advance(now);
      this.show();
      if (this.playing) this.refresh();
    });
  }

  advance(now) {
    const passed = this.last === null ? 0 : (now - this.last) / 1000;
    this.last = now;
    this.time = Math.min(this.time + Math.min(passed, 0.25) * Number(this.find(".speed").value), this.end);
    if (this.time >= this.end) this.play(false);
  }

  show() {
    const words = `${this.time.toFixed(2)} s`;
    this.scrub.value = this.time;
    this.scrub.setAttribute("aria-valuetext", words);
    this.find(".clock").textContent = `${words} of ${this.end.toFixed(2)} s`;
    for (const plot of this.plots) plot.mark(this.time);
  }
}

/** A plot over time: its cursor follows the replay, and the pointer seeks in it. */
class Plot {
  constructor(svg, seek) {
    Object.assign(this, { svg, cursor: svg.querySelector(".cursor") });
    [this.begin, this.end, this.left, this.right] = ["begin", "end", "left", "right"].map((name) => Number(svg.dataset[name]));
    const seekHere = (event) => seek(this.timeAt(event.clientX));
    svg.addEventListener("click", seekHere);
    svg.addEventListener("pointermove", (event) => event.buttons & 1 && seekHere(event));
    svg.classList.add("seekable");
  }

  timeAt(clientX) {
    const { left, width } = this.svg.getBoundingClientRect();
    const x = ((clientX - left) / width) * this.svg.viewBox.baseVal.width;
    return this.begin + ((x - this.left) / (this.right - this.left)) * (this.end - this.begin);
  }

  mark(time) {
    const x = ((time - this.begin) / (this.end - this.begin)) * (this.right - this.left);
    this.cursor?.setAttribute("transform", `translate(${x.toFixed(1)} 0)`);
    this.cursor?.setAttribute("visibility", x >= -0.05 && x <= this.right - this.left + 0.05 ? "visible" : "hidden");
  }
}
