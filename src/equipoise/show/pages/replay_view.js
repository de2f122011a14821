/** Draws a moment of a run; uses replay_gl.js. */

/** Seen through what hides them, marks are this faint. */
const THROUGH = 0.4;
/** Marks on the ground are drawn a little nearer, so that it does not hide them. */
const NEARER = { fill: 4e-4, line: 6e-4, mark: 8e-4 };

/** What a canvas shows of a run; throws where WebGL 2 is missing. */
class View {
  constructor(canvas, run) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: true });
    if (!gl) throw new Error("no WebGL 2");
    Object.assign(this, { gl, canvas, run });
    this.solidProgram = makeProgram(gl, SOLID_VERTEX, SOLID_FRAGMENT);
    this.groundProgram = makeProgram(gl, SOLID_VERTEX, GROUND_FRAGMENT);
    this.depthProgram = makeProgram(gl, SOLID_VERTEX, NOTHING_FRAGMENT);
    this.lineProgram = makeProgram(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.solids = run.solids.map((solid) => ({ ...solid, ...makeMesh(gl, solid) }));
    this.ground = makeMesh(gl, run.ground ?? SQUARE);
    this.ball = makeMesh(gl, BALL);
    this.disc = makeMesh(gl, revolved([[1, 0], [0, 0]]));
    this.ring = makeMesh(gl, revolved([[1, 0], [0.7, 0]]));
    this.shaft = makeMesh(gl, revolved([[1, 0], [1, 1]], 16));
    this.head = makeMesh(gl, revolved([[0, 0], [1, 0], [1, 0], [0, 1]], 24));
    this.fan = makeScratch(gl, 12, [3], 0);
    this.segments = makeScratch(gl, 32, [3, 3, 2], 1);
    this.shadowMap = makeShadowMap(gl);
    gl.vertexAttrib3f(1, 0, 0, 1); /** normal of fans, which bring none */
  }

  /** Fit the drawing to the canvas on the page; true pixels, at most two a side. */
  resize() {
    const { canvas } = this, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.max(Math.round(canvas.clientWidth * ratio), 1);
    const height = Math.max(Math.round(canvas.clientHeight * ratio), 1);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    this.ratio = ratio;
  }

  /**
   * Draw.
   * @param moment what there is to see, of Run.moment
   * @param place eye and target of the camera, and focus: the middle of the robot
   * @param show which of forces, paths and xray are wanted
   * @param colours of the page: paper, ink, c0 to c5, each three numbers up to 1
   */
  draw(moment, place, show, colours) {
    const { gl, canvas, run } = this, away = Math.hypot(...plus(place.eye, place.target, -1));
    Object.assign(this, { moment, colours });
    const projection = perspective(canvas.width / canvas.height, 0.1 * away, 12 * away);
    this.camera = times(projection, lookAt(place.eye, place.target));
    this.light = this.lightAt(place.focus);
    this.drawShadows();
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...colours.paper, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    const lit = { camera: this.camera, light: this.light, towardsLight: LIGHT, eye: place.eye, grain: 0.004 * run.height };
    useProgram(gl, this.solidProgram, lit);
    this.drawGround({ ...lit, focus: place.focus, reach: Math.max(1.1 * away, 1.5 * run.height) });
    if (!show.xray) this.drawSolids(1);
    this.drawFloorMarks(show);
    this.drawMarks(show);
    if (show.xray) this.drawThinSolids();
  }

  lightAt(focus) {
    const r = 1.25 * this.run.height;
    const box = [1 / r, 0, 0, 0, 0, 1 / r, 0, 0, 0, 0, -0.5 / r, 0, 0, 0, -1, 1];
    return times(box, lookAt(plus(focus, LIGHT, 2 * r), focus));
  }

  drawShadows() {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowMap.target);
    gl.viewport(0, 0, SHADOW_MAP_PX, SHADOW_MAP_PX);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    useProgram(gl, this.depthProgram, { camera: this.light, nearer: 0 });
    for (const solid of this.solids) this.drawMesh(this.depthProgram, solid, this.modelOf(solid));
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  modelOf(solid) {
    return solid.mover === null ? IDENTITY : this.moment.movers[solid.mover];
  }

  drawMesh({ places }, mesh, model, uniforms = {}) {
    const { gl } = this;
    setUniforms(gl, places, { model, ...uniforms });
    gl.bindVertexArray(mesh.vao);
    gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }

  /** A mesh where there is one, else a plane around what is looked at. */
  drawGround(uniforms) {
    const { gl, run, colours } = this, { focus, reach } = uniforms;
    const [level, alongX, alongY] = run.plane ?? [0, 0, 0];
    const plane = [reach, 0, alongX * reach, 0, 0, reach, alongY * reach, 0, -alongX, -alongY, 1, 0];
    plane.push(focus[0], focus[1], level + alongX * focus[0] + alongY * focus[1], 1);
    gl.enable(gl.CULL_FACE);
    const { paper, ink } = colours, bounds = run.bounds ?? [-1e6, -1e6, 1e6, 1e6];
    useProgram(gl, this.groundProgram, { ...uniforms, paper, ink, bounds, nearer: 0 });
    this.drawMesh(this.groundProgram, this.ground, run.ground ? IDENTITY : plane);
    gl.disable(gl.CULL_FACE);
  }

  drawSolids(alpha) {
    const { gl, solidProgram } = this;
    useProgram(gl, solidProgram, { nearer: 0, shaded: 1 });
    for (const solid of this.solids) {
      this.drawMesh(solidProgram, solid, this.modelOf(solid), { colour: [...solid.colour, alpha] });
    }
  }

  /** Only the nearest surface, so that none shines through another. */
  drawThinSolids() {
    const { gl } = this;
    gl.colorMask(false, false, false, false);
    this.drawSolids(1);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.LEQUAL);
    this.drawSolids(0.34);
    gl.depthFunc(gl.LESS);
  }

  drawFloorMarks(show) {
    const { gl, run, moment, colours } = this;
    gl.depthMask(false);
    for (const print of run.footprints.filter((one) => one.start <= moment.time)) {
      const now = moment.time <= print.end;
      this.drawArea(print.corners, colours[print.colour], now ? 0.22 : 0.12);
      this.drawLines(outline(print.corners), colours[print.colour], { alpha: now ? 0.9 : 0.5, width: 1.4 });
    }
    if (moment.support.length > 2) {
      this.drawArea(moment.support, colours[run.colours.support], 0.2);
      this.drawLines(outline(moment.support), colours[run.colours.support], { alpha: 0.95, width: 1.8 });
    }
    if (show.paths) {
      for (const path of run.paths) {
        const planned = { alpha: 0.75, width: 1.4, dash: 0.022 * run.height };
        const done = { alpha: 0.9, width: 1.7, now: moment.frame };
        this.drawLines(path.segments, colours[path.colour], path.planned ? planned : done);
      }
    }
    gl.depthMask(true);
  }

  /** Once faint where they are hidden, once full where they are not. */
  drawMarks(show) {
    const { gl } = this;
    gl.enable(gl.CULL_FACE);
    gl.depthMask(false);
    gl.depthFunc(gl.GREATER);
    this.drawPoints(show, THROUGH);
    gl.depthMask(true);
    gl.depthFunc(gl.LESS);
    this.drawPoints(show, 1);
    gl.disable(gl.CULL_FACE);
  }

  drawPoints(show, alpha) {
    const { gl, run, moment, colours, solidProgram } = this, size = run.height;
    const com = colours[run.colours.com], below = [moment.com[0], moment.com[1], moment.level];
    const drop = [...moment.com, ...below, 0, 0];
    this.drawLines(drop, com, { alpha: 0.9 * alpha, width: 1.6, dash: 0.016 * size });
    useProgram(gl, solidProgram, { nearer: NEARER.mark, shaded: 0 });
    const flat = (mesh, at, radius, colour) =>
      this.drawMesh(solidProgram, mesh, upright(at, [0, 0, 1], radius, 1), { colour: [...colour, alpha] });
    flat(this.ring, below, 0.016 * size, com);
    if (moment.zmp) flat(this.disc, moment.zmp, 0.011 * size, colours[run.colours.zmp]);
    useProgram(gl, solidProgram, { nearer: 0, shaded: 0.6 });
    if (show.forces) for (const force of moment.forces) this.drawArrow(force, alpha);
    const middle = upright(moment.com, [0, 0, 1], 0.019 * size, 0.019 * size);
    this.drawMesh(solidProgram, this.ball, middle, { colour: [...com, alpha === 1 ? 1 : 0.65] });
  }

  drawArrow([start, end], alpha) {
    const { run, solidProgram } = this, way = plus(end, start, -1), length = Math.hypot(...way);
    const radius = 0.0036 * run.height, head = Math.min(0.03 * run.height, 0.5 * length);
    const neck = plus(start, way, 1 - head / length);
    const colour = { colour: [...this.colours[run.colours.force], alpha] };
    this.drawMesh(solidProgram, this.shaft, upright(start, way, radius, length - head), colour);
    this.drawMesh(solidProgram, this.head, upright(neck, way, 0.36 * head, head), colour);
  }

  drawArea(corners, colour, alpha) {
    const { gl, solidProgram, fan } = this;
    useProgram(gl, solidProgram, { nearer: NEARER.fill, shaded: 0, model: IDENTITY, colour: [...colour, alpha] });
    gl.bindVertexArray(fan.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, fan.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners.flat()), gl.STREAM_DRAW);
    gl.drawArrays(gl.TRIANGLE_FAN, 0, corners.length);
  }

  /** Segments are of eight numbers: start, end, length before it, frame. */
  drawLines(segments, colour, { alpha, width, dash = 0, now = Infinity }) {
    const { gl, canvas } = this;
    useProgram(gl, this.lineProgram, {
      camera: this.camera, size: [canvas.width, canvas.height], width: width * this.ratio,
      dash, now: Math.min(now, 1e9), nearer: NEARER.line, colour: [...colour, alpha],
    });
    gl.bindVertexArray(this.segments.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.segments.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(segments), gl.STREAM_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, segments.length / 8);
  }
}

/** Sides of a polygon as segments of lines. */
function outline(corners) {
  return corners.flatMap((corner, n) => [...corner, ...corners[(n + 1) % corners.length], 0, 0]);
}
