// The scene as surfaces that move with bodies, the motions they go through, and where the ground is.

const WORLD = -1;
const DARK = [0.2, 0.25, 0.31];
const LIGHT = [0.93, 0.94, 0.95];
const OBSTACLE = [0.66, 0.47, 0.54];

// A motion: poses and forces at any time.
class Motion {
  constructor(told, bodies, contacts) {
    this.name = told.name;
    this.bodies = bodies;
    this.contacts = contacts;
    this.time = unpack(told.time);
    this.position = unpack(told.position);
    this.quaternion = unpack(told.quaternion);
    this.centerOfMass = unpack(told.centerOfMass);
    this.traces = (told.traces || []).map(unpack);
    this.contactForce = told.contactForce ? unpack(told.contactForce) : null;
    this.centerOfPressure = told.centerOfPressure ? unpack(told.centerOfPressure) : null;
    this.reaction = told.reaction ? unpack(told.reaction) : null;
    this.footForce = told.footForce ? unpack(told.footForce) : null;
    this.footPoint = told.footPoint ? unpack(told.footPoint) : null;
    this.feet = this.footForce ? this.footForce.length / this.time.length / 3 : 0;
    this.support = told.support || null;
  }

  get start() {
    return this.time[0];
  }

  get end() {
    return this.time[this.time.length - 1];
  }

  at(t) {
    const [k, u] = located(this.time, t);
    const positions = between(this.position, 3 * this.bodies, k, u);
    const quaternions = between(this.quaternion, 4 * this.bodies, k, u);
    const bodies = [];
    for (let b = 0; b < this.bodies; b++) {
      const q = quaternions.slice(4 * b, 4 * b + 4);
      const size = Math.hypot(...q) || 1;
      bodies.push({ position: positions.slice(3 * b, 3 * b + 3), turn: q.map((x) => x / size) });
    }
    const nearest = u < 0.5 ? k : Math.min(k + 1, this.time.length - 1);
    return {
      frame: nearest,
      bodies,
      centerOfMass: between(this.centerOfMass, 3, k, u),
      contactForce: this.contactForce && between(this.contactForce, 3 * this.contacts, k, u),
      centerOfPressure: this.centerOfPressure && between(this.centerOfPressure, 3, k, u),
      reaction: this.reaction && between(this.reaction, 3 * this.bodies, k, u),
      footForce: this.footForce && between(this.footForce, 3 * this.feet, k, u),
      footPoint: this.footPoint && between(this.footPoint, 3 * this.feet, k, u),
      support: this.support && this.support[nearest],
    };
  }
}

const STILL = { position: [0, 0, 0], turn: [1, 0, 0, 0] };
const bodyOf = (pose, k) => (k === WORLD ? STILL : pose.bodies[k]);
const carried = (body, p) => add(turned(body.turn, p), body.position);

class Stage {
  constructor(data) {
    this.scene = data.scene;
    this.arrows = data.arrows;
    this.motions = data.motions.map((told) => new Motion(told, data.scene.bodies.length, data.scene.contacts.length));
    this.size = data.scene.size;
    this.planar = data.scene.normal !== null;
    this.covered = data.scene.joints.some((joint) => joint.covered); // bodies hide what is inside them
    this.items = []; // {body, surface, color}
    this.addBodies();
    this.addJoints();
    this.measure();
    this.addObstacles(data.obstacles);
    this.setView();
    this.setGround(data.ground);
    this.addPedestals();
  }

  put(body, color, surface, layer = "body") {
    this.items.push({ body, color, surface, layer });
  }

  addBodies() {
    this.scene.bodies.forEach((body, k) => {
      const surfaces = new Map(); // by colour
      const of = (x) => {
        const color = x.color || body.color;
        if (!surfaces.has(color)) surfaces.set(color, new Surface());
        return surfaces.get(color);
      };
      for (const shape of body.shapes) of(shape).append(surfaceOfShape(shape), shape.turn, shape.position);
      for (const x of body.solids) of(x).append(solid(x));
      for (const [color, surface] of surfaces) if (surface.corners) this.put(k, colorOf(color), surface);
    });
  }

  // A joint's mark shows its kind; a slide also has a rail, which is drawn with each pose.
  addJoints() {
    const r = 0.034 * this.size;
    for (const joint of this.scene.joints) {
      if (joint.covered) continue;
      const turn = joint.axis ? turnToAxis(joint.axis) : [1, 0, 0, 0];
      const mark = (color, surface) => this.put(joint.body, color, new Surface().append(surface, turn), "joint");
      if (joint.kind === "revolute") {
        mark(DARK, cylinder(r, 2.5 * r));
        mark(LIGHT, cylinder(0.5 * r, 2.62 * r));
      } else if (joint.kind === "prismatic") mark(DARK, box(1.7 * r, 1.7 * r, 2.8 * r));
      else if (joint.kind === "cylindrical") {
        mark(DARK, cylinder(0.8 * r, 3.6 * r));
        mark(LIGHT, cylinder(0.95 * r, 1.2 * r));
      } else if (joint.kind === "universal") {
        mark(DARK, cylinder(0.55 * r, 3 * r));
        mark(LIGHT, new Surface().append(cylinder(0.55 * r, 3 * r), turnToAxis([1, 0, 0])));
      } else if (joint.kind === "spherical") mark(DARK, sphere(1.15 * r));
      else if (joint.kind === "planar") mark(DARK, cylinder(1.6 * r, 0.5 * r));
      else if (joint.kind === "fixed") mark(DARK, box(0.9 * r, 0.9 * r, 0.9 * r));
    }
  }

  // Points (world) that the whole motion touches: corners of the bodies' boxes at some moments.
  measure() {
    const boxes = this.scene.bodies.map(() => ({ low: [0, 0, 0], high: [0, 0, 0] }));
    for (const { body, surface } of this.items) {
      for (let k = 0; k < surface.positions.length; k++) {
        const axis = k % 3;
        boxes[body].low[axis] = Math.min(boxes[body].low[axis], surface.positions[k]);
        boxes[body].high[axis] = Math.max(boxes[body].high[axis], surface.positions[k]);
      }
    }
    this.points = [];
    this.tips = []; // of arrows
    for (const motion of this.motions) {
      const moments = Math.min(40, motion.time.length);
      for (let m = 0; m < moments; m++) {
        const pose = motion.at(motion.start + ((motion.end - motion.start) * m) / Math.max(1, moments - 1));
        boxes.forEach(({ low, high }, b) => {
          for (let corner = 0; corner < 8; corner++) {
            const p = [corner & 1 ? high[0] : low[0], corner & 2 ? high[1] : low[1], corner & 4 ? high[2] : low[2]];
            this.points.push(carried(pose.bodies[b], p));
          }
        });
        const { arrows } = this.dynamics(motion, pose, { forces: true, center: false });
        for (const { start, vector } of arrows) this.tips.push(add(start, vector));
      }
    }
    for (const joint of this.scene.joints) if (joint.parent === WORLD && joint.grounded) this.points.push(joint.seat);
    this.frame();
  }

  // The box and the ball around all points.
  frame() {
    this.low = [0, 1, 2].map((axis) => Math.min(...this.points.map((p) => p[axis])));
    this.high = [0, 1, 2].map((axis) => Math.max(...this.points.map((p) => p[axis])));
    this.middle = scaled(add(this.low, this.high), 0.5);
    this.radius = Math.max(...this.points.map((p) => length(subtract(p, this.middle))), 1e-3);
  }

  // What the motion keeps out of; of large ones, what is near the motion is within the picture.
  addObstacles(told) {
    for (const shape of told) {
      const surface = new Surface().append(surfaceOfShape(shape), shape.turn, shape.position);
      this.put(shape.body, OBSTACLE, surface, "obstacle");
      if (shape.body !== WORLD) continue;
      for (let k = 0; k < surface.positions.length; k += 3) {
        const corner = surface.positions.slice(k, k + 3);
        this.points.push(corner.map((x, a) => clamp(x, this.low[a] - 0.5 * this.size, this.high[a] + 0.5 * this.size)));
      }
    }
    if (told.length) this.frame();
  }

  // Up on the picture, and the direction to the eye: along the normal if all stays in a plane.
  setView() {
    this.up = this.scene.up;
    this.towards = null;
    if (!this.planar) return;
    const normal = this.scene.normal;
    this.towards = normal[1] > 0.5 ? scaled(normal, -1) : normal;
    if (Math.abs(dot(normal, this.up)) > 0.9) this.up = normal[2] > 0.5 ? [0, 1, 0] : [0, 0, 1];
  }

  // The plane below (or, for planar mechanisms without ground, behind) all that moves.
  setGround(ground) {
    this.surroundings = ground;
    const lowest = (direction) => Math.min(...this.points.map((p) => dot(p, direction)));
    if (ground) {
      this.plane = { origin: ground.origin, normal: unit(ground.normal), ahead: unit(ground.forward), wall: false };
    } else if (this.planar) {
      const back = lowest(this.towards) - 0.03 * this.size;
      this.plane = { origin: scaled(this.towards, back), normal: this.towards, ahead: across(this.towards)[0], wall: true };
    } else {
      const grounded = this.scene.joints.some((joint) => joint.grounded);
      const height = lowest(this.up) - (grounded ? 0.03 : 0) * this.size;
      this.plane = { origin: scaled(this.up, Math.min(height, grounded ? 0 : Infinity)), normal: this.up, ahead: across(this.up)[0], wall: false };
    }
    // Whether the plane is one that something stands on or stays above, or no level plane at all.
    this.stands = ground !== null || this.plane.wall || this.motions.some((motion) => motion.footForce);
    this.plane.side = cross(this.plane.normal, this.plane.ahead);
    this.step = gridStep(this.size);
    if (ground) for (const region of ground.regions) this.addRegion(region);
    if (ground && ground.terrain) this.addTerrain(ground.terrain);
  }

  // Uneven ground: rows of places, with the mean normal of the cells around each.
  addTerrain(rows) {
    const normals = rows.map((row) => row.map(() => [0, 0, 0]));
    const cells = [];
    for (let i = 0; i + 1 < rows.length; i++) {
      for (let j = 0; j + 1 < rows[i].length; j++) {
        const normal = cross(subtract(rows[i + 1][j + 1], rows[i][j]), subtract(rows[i][j + 1], rows[i + 1][j]));
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
        for (const [a, b] of corners) normals[a][b] = add(normals[a][b], normal);
        cells.push(corners);
      }
    }
    const placed = new Surface();
    for (const corners of cells) {
      for (const k of [0, 1, 2, 0, 2, 3]) {
        const [i, j] = corners[k];
        placed.corner(rows[i][j], unit(normals[i][j]));
      }
    }
    this.put(WORLD, [0.72, 0.74, 0.72], placed, "ground");
  }

  addRegion(region) {
    const { origin, normal, ahead, side } = this.plane;
    const reach = (ends, direction) => {
      const values = this.points.map((p) => dot(subtract(p, origin), direction));
      const [low, high] = [Math.min(...values) - this.size, Math.max(...values) + this.size];
      return [clamp(ends[0], low, high), clamp(ends[1], low, high)];
    };
    const [a, b] = [reach(region.forward, ahead), reach(region.side, side)];
    const height = Math.max(region.height, 0.002 * this.size);
    const surface = box(a[1] - a[0], b[1] - b[0], height);
    const middle = add(origin, add(add(scaled(ahead, (a[0] + a[1]) / 2), scaled(side, (b[0] + b[1]) / 2)), scaled(normal, height / 2)));
    const placed = new Surface();
    const turn = (v) => add(add(scaled(ahead, v[0]), scaled(side, v[1])), scaled(normal, v[2]));
    for (let k = 0; k < surface.positions.length; k += 3) {
      placed.corner(add(turn(surface.positions.slice(k, k + 3)), middle), turn(surface.normals.slice(k, k + 3)));
    }
    this.put(WORLD, [0.72, 0.74, 0.72], placed, "ground");
  }

  // What a joint of the world stands on: a column down to the ground, or a peg to the wall.
  addPedestals() {
    const { origin, normal } = this.plane;
    for (const joint of this.scene.joints) {
      if (!joint.grounded || joint.covered) continue;
      const height = dot(subtract(joint.seat, origin), normal);
      const foot = subtract(joint.seat, scaled(normal, height));
      const r = 0.03 * this.size;
      const surface = new Surface();
      const turn = turnToAxis(normal);
      if (height > 0.2 * r) surface.append(cylinder(0.75 * r, height), turn, add(foot, scaled(normal, height / 2)));
      if (height > -0.2 * r) surface.append(cylinder(2.6 * r, 0.5 * r, 2.2 * r), turn, add(foot, scaled(normal, 0.25 * r)));
      this.put(WORLD, [0.55, 0.59, 0.63], surface, "ground");
    }
  }

  // What changes its shape with the pose: arrows, rails, paths, the area of support.
  dynamics(motion, pose, shown) {
    const drawn = { arrows: [], rods: [], balls: [], polygons: [], paths: [] };
    this.addArrows(drawn, pose, shown);
    this.addMarks(drawn, motion, pose, shown);
    return drawn;
  }

  addArrows(drawn, pose, shown) {
    const { contact, reaction, longest } = this.arrows;
    const arrow = (start, force, scale, color) => {
      const size = length(force);
      const reach = Math.min(size * scale, longest);
      if (reach > 0.015 * this.size) drawn.arrows.push({ start, vector: scaled(force, reach / size), color });
    };
    if (shown.forces && pose.contactForce)
      this.scene.contacts.forEach((point, k) =>
        arrow(carried(bodyOf(pose, point.body), point.position), pose.contactForce.slice(3 * k, 3 * k + 3), contact, [0.78, 0.2, 0.2]));
    if (shown.forces && pose.footForce)
      for (let k = 0; k < pose.footForce.length; k += 3)
        arrow(pose.footPoint.slice(k, k + 3), pose.footForce.slice(k, k + 3), contact, [0.78, 0.2, 0.2]);
    if (shown.forces && pose.reaction)
      pose.bodies.forEach((body, k) => arrow(body.position, pose.reaction.slice(3 * k, 3 * k + 3), reaction, [0.87, 0.5, 0.13]));
  }

  addMarks(drawn, motion, pose, shown) {
    if (!this.plane) return;
    const lift = scaled(this.plane.normal, 0.004 * this.size);
    for (const point of this.covered ? [] : this.scene.contacts)
      drawn.balls.push({ at: carried(bodyOf(pose, point.body), point.position), radius: 0.013 * this.size, color: [0.78, 0.2, 0.2] });
    for (const joint of this.scene.joints) {
      const [from, to] = [carried(bodyOf(pose, joint.parent), joint.seat), pose.bodies[joint.body].position];
      if (joint.kind !== "free" && !joint.covered && length(subtract(to, from)) > 0.01 * this.size)
        drawn.rods.push({ from, to, radius: 0.011 * this.size, color: [0.45, 0.5, 0.55] });
    }
    for (const [, b] of this.scene.loops) drawn.balls.push({ at: carried(bodyOf(pose, b.body), b.position), radius: 0.024 * this.size, color: DARK });
    for (const [a, b] of this.scene.loops)
      drawn.rods.push({ from: carried(bodyOf(pose, a.body), a.position), to: carried(bodyOf(pose, b.body), b.position), radius: 0.008 * this.size, color: [0.78, 0.2, 0.2] });
    for (const [a, b] of this.scene.springs)
      drawn.rods.push({ from: carried(bodyOf(pose, a.body), a.position), to: carried(bodyOf(pose, b.body), b.position), radius: 0.004 * this.size, color: [0.2, 0.24, 0.3] });
    if (shown.traces) for (const points of motion.traces) drawn.paths.push({ points, color: [0.09, 0.41, 0.48] });
    if (shown.center) {
      drawn.balls.push({ at: pose.centerOfMass, radius: 0.03 * this.size, color: [0.98, 0.8, 0.2], above: true });
      drawn.paths.push({ points: motion.centerOfMass, color: [0.85, 0.63, 0.1] });
      this.scene.bodies.forEach((body, k) => {
        if (body.mass > 0 && !this.covered) drawn.balls.push({ at: carried(pose.bodies[k], body.center), radius: 0.011 * this.size, color: [0.1, 0.13, 0.17], above: true });
      });
    }
    if (shown.forces && pose.support && pose.support.length >= 6) {
      const corners = [];
      for (let k = 0; k < pose.support.length; k += 3) corners.push(add(this.onPlane(pose.support.slice(k, k + 3)), lift));
      drawn.polygons.push({ corners, color: [0.23, 0.6, 0.43] });
    }
    if (shown.forces && pose.centerOfPressure && Number.isFinite(pose.centerOfPressure[0]))
      drawn.balls.push({ at: add(pose.centerOfPressure, lift), radius: 0.02 * this.size, color: [0.71, 0.28, 0.49], above: true });
  }

  onPlane(p) {
    if (this.surroundings && this.surroundings.regions.length) return p;
    const { origin, normal } = this.plane;
    return subtract(p, scaled(normal, dot(subtract(p, origin), normal)));
  }
}

// A round distance of which the mechanism's size holds about five.
function gridStep(size) {
  const power = 10 ** Math.floor(Math.log10(size / 5));
  return [1, 2, 5, 10].map((x) => x * power).reduce((a, b) => (Math.abs(a - size / 5) <= Math.abs(b - size / 5) ? a : b));
}
