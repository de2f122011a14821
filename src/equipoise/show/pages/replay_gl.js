/** Shaders, geometry and WebGL 2 calls that know nothing of runs. */

/** Towards the key light, from the right front of a robot that faces +x. */
const LIGHT = normalised([0.42, -0.5, 0.92]);
const FIELD_OF_VIEW = 0.5;
const SHADOW_MAP_PX = 1024;

const SOLID_VERTEX = `#version 300 es
layout(location=0) in vec3 position;
layout(location=1) in vec3 normal;
uniform mat4 camera, model;
uniform float nearer;
out vec3 world, facing;
void main() {
  vec4 at = model * vec4(position, 1.0);
  world = at.xyz;
  facing = mat3(model) * normal;
  gl_Position = camera * at;
  gl_Position.z -= nearer * gl_Position.w;
}`;

/** How much of the key light arrives; shared by all that is lit. */
const LIT = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
in vec3 world, facing;
uniform vec3 towardsLight, eye;
uniform float grain;
uniform mat4 light;
uniform sampler2DShadow shadows;
out vec4 result;
float around(vec3 at, float first, float every) {
  float sum = 0.0;
  for (float x = first; x < 2.5; x += every)
    for (float y = first; y < 2.5; y += every)
      sum += texture(shadows, vec3(at.xy + vec2(x, y) * 1.3 / ${SHADOW_MAP_PX}.0, at.z - 0.002));
  return sum;
}
float lit(vec3 normal) {
  vec3 at = (light * vec4(world + grain * normal, 1.0)).xyz;
  if (any(greaterThan(abs(at), vec3(1.0)))) return 1.0;
  at = 0.5 * at + 0.5;
  float corners = 0.25 * around(at, -2.0, 4.0);
  if (corners == 0.0 || corners == 1.0) return corners;
  return around(at, -2.0, 1.0) / 25.0;
}`;

const SOLID_FRAGMENT = `${LIT}
uniform vec4 colour;
uniform float shaded;
void main() {
  vec3 view = normalize(eye - world);
  vec3 normal = normalize(facing);
  if (dot(normal, view) < 0.0) normal = -normal;
  float key = max(dot(normal, towardsLight), 0.0);
  if (key > 0.0) key *= lit(normal);
  float sky = 0.5 + 0.5 * normal.z;
  float gloss = pow(max(dot(normal, normalize(view + towardsLight)), 0.0), 40.0);
  float rim = pow(1.0 - max(dot(normal, view), 0.0), 4.0);
  vec3 base = colour.rgb * colour.rgb;
  vec3 seen = base * (mix(0.26, 0.46, sky) + 0.72 * key) + 0.07 * gloss * key + 0.05 * rim * sky;
  result = vec4(mix(colour.rgb, sqrt(seen), shaded), colour.a);
}`;

const GROUND_FRAGMENT = `${LIT}
uniform vec3 paper, ink, focus;
uniform vec4 bounds;
uniform float reach;
float grid(float every, float px) {
  vec2 wide = max(fwidth(world.xy), vec2(1e-6));
  vec2 away = abs(fract(world.xy / every - 0.5) - 0.5) * every / wide;
  vec2 line = clamp(px - away, 0.0, 1.0) * clamp(0.15 * every / wide, 0.0, 1.0);
  return max(line.x, line.y);
}
void main() {
  vec3 normal = normalize(facing);
  float far = length(world.xy - focus.xy) / reach;
  vec4 inside = vec4(world.xy - bounds.xy, bounds.zw - world.xy);
  float edge = min(min(inside.x, inside.y), min(inside.z, inside.w)) / reach;
  float slope = dot(normal, towardsLight) / towardsLight.z;
  float level = step(0.9, normal.z);
  float lines = max(0.045 * grid(0.1, 1.0), 0.11 * grid(0.5, 1.2)) * level;
  vec3 base = mix(paper, ink, 0.045 + lines);
  base *= mix(1.0, clamp(0.35 + 0.65 * slope, 0.0, 1.1), 0.55);
  base *= mix(0.70, 1.0, lit(normal));
  result = vec4(base, (1.0 - smoothstep(0.35, 1.0, far)) * smoothstep(0.0, 0.12, edge));
}`;

const NOTHING_FRAGMENT = `#version 300 es
void main() {}`;

const LINE_VERTEX = `#version 300 es
layout(location=0) in vec3 start;
layout(location=1) in vec3 end;
layout(location=2) in vec2 extra;
uniform mat4 camera;
uniform vec2 size;
uniform float width, now, nearer;
out float across, along, strength;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, (gl_VertexID >> 1) * 2 - 1);
  vec4 a = camera * vec4(start, 1.0), b = camera * vec4(end, 1.0);
  vec2 way = (b.xy / b.w - a.xy / a.w) * size;
  way = length(way) > 1e-4 ? normalize(way) : vec2(1.0, 0.0);
  gl_Position = corner.x < 0.5 ? a : b;
  gl_Position.xy += vec2(-way.y, way.x) * corner.y * (width + 2.0) / size * gl_Position.w;
  gl_Position.z -= nearer * gl_Position.w;
  if (min(a.w, b.w) < 1e-3) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  across = corner.y * (0.5 * width + 1.0);
  along = extra.x + corner.x * distance(start, end);
  strength = extra.y > now ? 0.3 : 1.0;
}`;

const LINE_FRAGMENT = `#version 300 es
precision highp float;
in float across, along, strength;
uniform vec4 colour;
uniform float width, dash;
out vec4 result;
void main() {
  float cover = clamp(0.5 * width + 0.5 - abs(across), 0.0, 1.0);
  if (dash > 0.0) {
    float place = abs(fract(along / dash) - 0.5) * dash;
    cover *= 1.0 - smoothstep(-0.5, 0.5, (place - 0.29 * dash) / max(fwidth(along), 1e-6));
  }
  result = vec4(colour.rgb, colour.a * cover * strength);
}`;

function normalised(a) {
  const length = Math.hypot(...a) || 1;
  return a.map((value) => value / length);
}

function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const plus = (a, b, scale = 1) => a.map((value, at) => value + scale * b[at]);

/** Product of 4×4 matrices, column after column as WebGL has them. */
function times(a, b) {
  return Float32Array.from({ length: 16 }, (_, at) => {
    const row = at & 3, column = at & 12;
    return a[row] * b[column] + a[row + 4] * b[column + 1] + a[row + 8] * b[column + 2] + a[row + 12] * b[column + 3];
  });
}

/** World to camera, which looks along -z. */
function lookAt(eye, target) {
  const back = normalised(plus(eye, target, -1));
  const right = normalised(cross([0, 0, 1], back));
  const up = cross(back, right);
  const row = (axis) => [...axis, -dot(axis, eye)];
  const [x, y, z] = [row(right), row(up), row(back)];
  return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, x[3], y[3], z[3], 1];
}

function perspective(aspect, near, far) {
  const f = 1 / Math.tan(FIELD_OF_VIEW / 2), depth = near - far;
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (near + far) / depth, -1, 0, 0, (2 * near * far) / depth, 0];
}

/** Rotation by a quaternion xyzw (need not be of length one), then translation. */
function placed(x, y, z, w, at) {
  const s = 2 / (x * x + y * y + z * z + w * w || 1);
  return [
    1 - s * (y * y + z * z), s * (x * y + z * w), s * (x * z - y * w), 0,
    s * (x * y - z * w), 1 - s * (x * x + z * z), s * (y * z + x * w), 0,
    s * (x * z + y * w), s * (y * z - x * w), 1 - s * (x * x + y * y), 0,
    at[0], at[1], at[2], 1,
  ];
}

/** z along a way, scaled: where arrows and discs go. */
function upright(at, way, radius, length) {
  const z = normalised(way);
  const x = normalised(cross(Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], z));
  const y = cross(z, x);
  const column = (axis, scale) => [...axis.map((value) => scale * value), 0];
  return [...column(x, radius), ...column(y, radius), ...column(z, length), ...at, 1];
}

/** Mean normals of vertices, by area: vertices are split where edges are sharp. */
function withNormals(points, triangles) {
  const mixed = new Float32Array(2 * points.length);
  for (let v = 0; v < points.length / 3; v++) mixed.set(points.subarray(3 * v, 3 * v + 3), 6 * v);
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [0, 1, 2].map((corner) => 6 * triangles[t + corner]);
    const ab = [0, 1, 2].map((axis) => mixed[b + axis] - mixed[a + axis]);
    const ac = [0, 1, 2].map((axis) => mixed[c + axis] - mixed[a + axis]);
    cross(ab, ac).forEach((value, axis) => {
      for (const corner of [a, b, c]) mixed[corner + 3 + axis] += value;
    });
  }
  return mixed;
}

/** The solid that a line of (radius, z) makes when it turns about z. */
function revolved(profile, around = 32) {
  const points = [], triangles = [];
  profile.forEach(([radius, z], ring) => {
    for (let n = 0; n < around; n++) {
      const angle = (2 * Math.PI * n) / around, next = (n + 1) % around, here = ring * around;
      points.push(radius * Math.cos(angle), radius * Math.sin(angle), z);
      if (ring + 1 < profile.length) {
        triangles.push(here + n, here + next, here + next + around, here + n, here + next + around, here + n + around);
      }
    }
  });
  return { points: new Float32Array(points), triangles };
}

/** Shapes of marks, of size one. */
const BALL = revolved(Array.from({ length: 17 }, (_, n) => [Math.sin((Math.PI * n) / 16), -Math.cos((Math.PI * n) / 16)]));
const SQUARE = { points: new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), triangles: [0, 1, 2, 0, 2, 3] };
const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

/** A program and the places of its uniforms. */
function makeProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error("shaders do not link");
  const places = {};
  for (let n = 0; n < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); n++) {
    const { name, type } = gl.getActiveUniform(program, n);
    places[name] = { place: gl.getUniformLocation(program, name), type };
  }
  return { program, places };
}

/** Use a program; numbers, vectors and matrices by the names of its uniforms. */
function useProgram(gl, { program, places }, values) {
  gl.useProgram(program);
  setUniforms(gl, places, values);
}

function setUniforms(gl, places, values) {
  const setters = {
    [gl.FLOAT]: (place, value) => gl.uniform1f(place, value),
    [gl.FLOAT_VEC2]: (place, value) => gl.uniform2fv(place, value),
    [gl.FLOAT_VEC3]: (place, value) => gl.uniform3fv(place, value),
    [gl.FLOAT_VEC4]: (place, value) => gl.uniform4fv(place, value),
    [gl.FLOAT_MAT4]: (place, value) => gl.uniformMatrix4fv(place, false, value),
  };
  for (const [name, value] of Object.entries(values)) {
    const uniform = places[name];
    if (uniform) setters[uniform.type](uniform.place, value);
  }
}

/** Points with normals and triangles on the graphics card. */
function makeMesh(gl, { points, triangles }) {
  const vao = gl.createVertexArray();
  gl.bindVertexArray(vao);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, withNormals(points, triangles), gl.STATIC_DRAW);
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(triangles), gl.STATIC_DRAW);
  setLayout(gl, 24, [3, 3], 0);
  return { vao, count: triangles.length };
}

/** Numbers that are new in every picture: points of a fan, or segments of lines. */
function makeScratch(gl, stride, counts, perInstance) {
  const vao = gl.createVertexArray(), buffer = gl.createBuffer();
  gl.bindVertexArray(vao);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  setLayout(gl, stride, counts, perInstance);
  return { vao, buffer };
}

function setLayout(gl, stride, counts, perInstance) {
  let first = 0;
  counts.forEach((count, place) => {
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, count, gl.FLOAT, false, stride, first);
    gl.vertexAttribDivisor(place, perInstance);
    first += 4 * count;
  });
}

/** A texture of distances from the light, and what draws into it. */
function makeShadowMap(gl) {
  const texture = gl.createTexture(), target = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_MAP_PX, SHADOW_MAP_PX);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
  gl.bindFramebuffer(gl.FRAMEBUFFER, target);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  return { texture, target };
}
