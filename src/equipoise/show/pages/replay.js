/** Plays a run in its report: reads the data, moves the camera, answers the controls. */

const TYPES = { uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };
const COLOURS = ["paper", "ink", "c0", "c1", "c2", "c3", "c4", "c5"];

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Header and arrays of report_replay.py; whole numbers are differences there. */
function unpacked(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  for (const [name, [kind, first, count]] of Object.entries(header.arrays)) {
    const array = new TYPES[kind](buffer, 4 + length + first, count);
    if (/16|32$/.test(kind) && kind !== "float32") for (let n = 1; n < count; n++) array[n] += array[n - 1];
    header.arrays[name] = array;
  }
  return header;
}

/** A run: what there is to see at any time, between frames too. */
class Run {
  constructor(header) {
    Object.assign(this, header);
    this.time = this.arrays.time;
    this.coms = Array.from({ length: this.frames }, (_, frame) => [0, 1, 2].map((axis) => this.arrays.com[axis * this.frames + frame]));
    this.solids = this.unpackSolids();
    this.ground = this.hasGround ? this.solids.pop() : null;
    this.bounds = this.ground && boundsOf(this.ground.points);
    this.paths = this.paths.map((path, at) => ({ ...path, segments: this.segmentsOf(`path${at}`) }));
    let first = 0;
    this.footprints = this.footprints.map((print) => ({ ...print, corners: triples(this.arrays.prints, first, (first += print.count)) }));
    this.supports = this.unpackLists("support");
    this.forces = this.unpackLists("forces");
  }

  unpackSolids() {
    const { vertices, triangles } = this.arrays, all = vertices.length / 3;
    let vertex = 0, corner = 0;
    return this.solids.map((solid) => {
      const { low, step } = solid, first = vertex;
      const points = Float32Array.from({ length: 3 * solid.vertices }, (_, n) => low[n % 3] + step * vertices[(n % 3) * all + first + Math.floor(n / 3)]);
      const own = triangles.subarray(corner, corner + 3 * solid.triangles);
      vertex += solid.vertices;
      corner += 3 * solid.triangles;
      return { mover: solid.mover, colour: solid.colour.map((value) => value / 255), points, triangles: own };
    });
  }

  /** Points of each frame, of which there are more or fewer. */
  unpackLists(name) {
    let first = 0;
    return Array.from(this.arrays[`${name}Counts`], (count, frame) => {
      const points = triples(this.arrays[name], first, (first += count));
      return points.map((point) => plus(this.coms[frame], point, this.steps[name]));
    });
  }

  /** A point that is tracked, in one frame; null where there is none. */
  tracked(name, frame) {
    if (!this.arrays[`${name}Shown`][frame]) return null;
    const relative = [0, 1, 2].map((axis) => this.arrays[name][axis * this.frames + frame]);
    return plus(this.coms[frame], relative, this.steps[name]);
  }

  segmentsOf(name) {
    const segments = [];
    let length = 0;
    for (let frame = 1; frame < this.frames; frame++) {
      const [a, b] = [this.tracked(name, frame - 1), this.tracked(name, frame)];
      if (!a || !b) continue;
      segments.push(...a, ...b, length, frame);
      length += Math.hypot(...plus(b, a, -1));
    }
    return new Float32Array(segments);
  }

  /** The frame before a time, with the part of the way to the next. */
  frameAt(time) {
    let low = 0, high = this.frames - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.time[middle] <= time) low = middle; else high = middle;
    }
    return low + (high > low ? clamped((time - this.time[low]) / (this.time[high] - this.time[low]), 0, 1) : 0);
  }

  moment(time) {
    const frame = this.frameAt(time), before = Math.floor(frame), part = frame - before;
    const after = Math.min(before + 1, this.frames - 1), nearest = Math.round(frame);
    const com = between(this.coms[before], this.coms[after], part);
    const [one, other] = [this.tracked("zmp", before), this.tracked("zmp", after)];
    const zmp = one && other ? between(one, other, part) : this.tracked("zmp", nearest);
    const level = this.arrays.level[nearest];
    const movers = this.steps.poses.map((step, mover) => this.placeOf(mover, step, before, after, part, com));
    return { time, frame, com, level, zmp, movers, support: this.supports[nearest], forces: pairs(this.forces[nearest]) };
  }

  placeOf(mover, step, before, after, part, com) {
    const { poses } = this.arrays;
    const [x, y, z, ...turn] = Array.from({ length: 7 }, (_, n) => {
      const first = (7 * mover + n) * this.frames;
      return (1 - part) * poses[first + before] + part * poses[first + after];
    });
    return placed(...turn, plus(com, [x, y, z], step));
  }

  /** Where the robot was about then: what the camera follows, without its sway. */
  middleAt(time) {
    const first = Math.floor(this.frameAt(time - 0.6)), last = Math.ceil(this.frameAt(time + 0.6));
    const sum = this.coms.slice(first, last + 1).reduce((total, com) => plus(total, com), [0, 0, 0]);
    const mean = sum.map((value) => value / (last - first + 1));
    return [mean[0], mean[1], mean[2] + this.middle];
  }
}

/** Least x and y, greatest x and y. */
function boundsOf(points) {
  const bounds = [Infinity, Infinity, -Infinity, -Infinity];
  for (let n = 0; n < points.length; n += 3) {
    for (const axis of [0, 1]) {
      bounds[axis] = Math.min(bounds[axis], points[n + axis]);
      bounds[axis + 2] = Math.max(bounds[axis + 2], points[n + axis]);
    }
  }
  return bounds;
}

const between = (a, b, part) => a.map((value, at) => (1 - part) * value + part * b[at]);
const pairs = (points) => points.flatMap((point, at) => (at % 2 ? [[points[at - 1], point]] : []));
const triples = (array, first, last) => Array.from({ length: last - first }, (_, n) => Array.from(array.subarray(3 * (first + n), 3 * (first + n + 1))));

/** A camera that turns about a point; angles in radians. */
class Orbit {
  constructor(height) {
    Object.assign(this, { height, azimuth: -0.95, elevation: 0.22, zoom: 1, pan: [0, 0, 0] });
  }

  place(focus, aspect) {
    const away = (0.58 * this.height) / Math.tan(FIELD_OF_VIEW / 2) / Math.min(aspect / 0.9, 1) / this.zoom;
    const target = plus(focus, this.pan), flat = Math.cos(this.elevation);
    const way = [flat * Math.cos(this.azimuth), flat * Math.sin(this.azimuth), Math.sin(this.elevation)];
    return { eye: plus(target, way, away), target, focus, away };
  }

  turn(dx, dy) {
    this.azimuth -= 0.008 * dx;
    this.elevation = clamped(this.elevation + 0.008 * dy, -0.15, 1.55);
  }

  /** Move what is seen along with the pointer; a pixel is this long at the target. */
  shift(dx, dy, metres) {
    const right = [-Math.sin(this.azimuth), Math.cos(this.azimuth), 0];
    const back = [Math.cos(this.azimuth), Math.sin(this.azimuth), 0].map((value) => -Math.sin(this.elevation) * value);
    const up = [back[0], back[1], Math.cos(this.elevation)];
    this.pan = plus(plus(this.pan, right, -dx * metres), up, dy * metres);
  }

  scale(factor) {
    this.zoom = clamped(this.zoom * factor, 0.15, 8);
  }
}

/** The controls under the canvas, the keys, the pointer, and the plots' cursors. */
class Player extends Playback {
  constructor(root, run) {
    super(root, run.time, root.querySelector("canvas"));
    Object.assign(this, { run, canvas: this.picture, orbit: new Orbit(run.height), pointers: new Map() });
    this.view = new View(this.canvas, run);
    this.readColours();
    this.listen();
    this.listenToPointer();
    this.seek(this.begin);
  }

  listen() {
    for (const box of this.root.querySelectorAll("[type=checkbox]")) box.addEventListener("change", () => this.optionChanged(box));
    for (const button of this.root.querySelectorAll("[data-view]")) button.addEventListener("click", () => this.look(button.dataset.view));
    new ResizeObserver(() => this.refresh()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.readColours());
    this.canvas.addEventListener("webglcontextlost", () => giveUp(this.root, "The graphics card gave up; load the page again."));
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const parts = (name) => [1, 3, 5].map((at) => parseInt(style.getPropertyValue(`--${name}`).trim().slice(at, at + 2), 16) / 255);
    this.colours = Object.fromEntries(COLOURS.map((name) => [name, parts(name)]));
    this.refresh();
  }

  optionChanged(box) {
    if (box.name === "follow") this.stayed = box.checked ? null : this.run.middleAt(this.time);
    this.refresh();
  }

  look(view) {
    const [azimuth, elevation] = view.split(" ").map((degrees) => (Number(degrees) * Math.PI) / 180);
    Object.assign(this.orbit, { azimuth, elevation, zoom: 1, pan: [0, 0, 0] });
    if (this.stayed) this.stayed = this.run.middleAt(this.time);
    this.refresh();
  }

  key(event) {
    super.key(event, { "+": () => this.zoomBy(1.15), "-": () => this.zoomBy(1 / 1.15) });
  }

  zoomBy(factor) {
    this.orbit.scale(factor);
    this.refresh();
  }

  listenToPointer() {
    const { canvas, pointers } = this;
    const forget = (event) => pointers.delete(event.pointerId);
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.setPointerCapture(event.pointerId);
      this.held = true;
    });
    canvas.addEventListener("pointermove", (event) => pointers.has(event.pointerId) && this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, forget);
    canvas.addEventListener("pointerleave", () => (this.held = false));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    /** The page scrolls over the canvas until it is clicked; pinching comes as ctrl. */
    canvas.addEventListener("wheel", (event) => {
      if (!this.held && !event.ctrlKey) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-0.0015 * event.deltaY * (event.deltaMode ? 20 : 1) * (event.ctrlKey ? 4 : 1)));
    }, { passive: false });
    canvas.addEventListener("touchmove", (event) => event.touches.length > 1 && event.preventDefault(), { passive: false });
  }

  /** One pointer turns, or moves with shift or the right button; two move and zoom. */
  drag(event) {
    const { orbit, pointers } = this, was = pointers.get(event.pointerId), now = [event.clientX, event.clientY];
    const [dx, dy] = [now[0] - was[0], now[1] - was[1]], metres = (2 * this.place().away * Math.tan(FIELD_OF_VIEW / 2)) / this.canvas.clientHeight;
    if (pointers.size > 1) {
      const [, other] = [...pointers].find(([id]) => id !== event.pointerId);
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      orbit.scale(apart(now) / apart(was));
      orbit.shift(dx / 2, dy / 2, metres);
    } else if (event.shiftKey || event.buttons & 6) orbit.shift(dx, dy, metres);
    else orbit.turn(dx, dy);
    pointers.set(event.pointerId, now);
    this.refresh();
  }

  place() {
    const focus = this.stayed ?? this.run.middleAt(this.time);
    return this.orbit.place(focus, this.canvas.clientWidth / Math.max(this.canvas.clientHeight, 1));
  }

  show() {
    const chosen = (name) => this.find(`[name=${name}]`).checked;
    super.show();
    this.view.resize();
    this.view.draw(this.run.moment(this.time), this.place(), { forces: chosen("forces"), paths: chosen("paths"), xray: chosen("xray") }, this.colours);
  }
}

/** Say in words why there is no replay; the rest of the report needs none of this. */
function giveUp(root, why) {
  root.hidden = true;
  const words = document.getElementById("replay-none");
  words.textContent = why;
  words.hidden = false;
}

async function start(root) {
  try {
    const run = new Run(unpacked(await inflated(document.getElementById("replay-data").textContent)));
    document.getElementById("replay-none").hidden = true;
    root.hidden = false;
    new Player(root, run);
  } catch (error) {
    giveUp(root, `There is no replay: this browser cannot draw it (${error.message}).`);
  }
}

start(document.getElementById("replay"));
