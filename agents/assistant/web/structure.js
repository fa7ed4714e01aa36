"use strict";
// A crystal that turns: a canvas in the place of its picture, drawn from the same numbers.
const EDGES = [[0, 1], [0, 2], [0, 4], [1, 3], [1, 5], [2, 3], [2, 6], [3, 7], [4, 5], [4, 6], [5, 7], [6, 7]];

const turnable = (image) => {
  const { cell, fractions, species, colours } = JSON.parse(image.dataset.structure);
  const place = (f) => [0, 1, 2].map((k) => f[0] * cell[0][k] + f[1] * cell[1][k] + f[2] * cell[2][k]);
  const middle = place([0.5, 0.5, 0.5]);
  const centred = (f) => place(f).map((x, k) => x - middle[k]);
  const corners = [...Array(8).keys()].map((n) => centred([n & 1, (n >> 1) & 1, n >> 2]));
  const atoms = fractions.map((f, n) => ({ at: centred(f), colour: colours[n], name: species[n] }));
  const reach = Math.max(...corners.map((c) => Math.hypot(...c)), 1e-6);
  const canvas = document.createElement("canvas");
  const size = 320, ratio = devicePixelRatio || 1;
  canvas.width = canvas.height = size * ratio;
  canvas.className = "drawn";
  canvas.tabIndex = 0;
  canvas.title = "drag, or use the arrow keys";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `structure ${image.alt}, ${atoms.length} sites`);
  const pen = canvas.getContext("2d");
  let across = -0.5, up = 0.35;
  const turned = ([x, y, z]) => {
    const [a, b] = [x * Math.cos(across) - y * Math.sin(across), x * Math.sin(across) + y * Math.cos(across)];
    const scale = (size / 2 - 24) / reach;
    return [size / 2 + a * scale, size / 2 - (z * Math.cos(up) + b * Math.sin(up)) * scale,
      b * Math.cos(up) - z * Math.sin(up)];
  };
  const draw = () => {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, size, size);
    pen.strokeStyle = "#76808b";
    const ends = corners.map(turned);
    pen.beginPath();
    for (const [a, b] of EDGES) {
      pen.moveTo(ends[a][0], ends[a][1]);
      pen.lineTo(ends[b][0], ends[b][1]);
    }
    pen.stroke();
    const radius = Math.min(16, Math.max(4, 70 / Math.cbrt(atoms.length)));
    const seen = atoms.map((atom) => ({ ...atom, seen: turned(atom.at) })).sort((a, b) => b.seen[2] - a.seen[2]);
    for (const { seen: [x, y], colour, name } of seen) {
      const light = pen.createRadialGradient(x - radius / 3, y - radius / 3, radius / 8, x, y, radius);
      light.addColorStop(0, "#fff");
      light.addColorStop(0.35, `#${colour}`);
      pen.fillStyle = light;
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fill();
      pen.strokeStyle = "#4d565f";
      pen.stroke();
      if (radius < 9) continue;
      pen.fillStyle = "#111";
      pen.font = "11px sans-serif";
      pen.textAlign = "center";
      pen.fillText(name, x, y + 4);
    }
  };
  const turn = (x, y) => {
    across += x;
    up = Math.max(-1.57, Math.min(1.57, up + y));
    draw();
  };
  canvas.onpointerdown = (event) => canvas.setPointerCapture(event.pointerId);
  canvas.onpointermove = (event) => {
    if (event.buttons) turn(event.movementX / 90, event.movementY / 90);
  };
  canvas.onkeydown = (event) => {
    const step = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] }[event.key];
    if (!step) return;
    event.preventDefault();
    turn(...step);
  };
  draw();
  image.replaceWith(canvas);
};
