"use strict";
// A crystal that turns, in the place of its still picture: 3Dmol.js draws what `agents/crystal.py` decided.
// Without WebGL the still picture stays. Nothing here asks the network.
const BOND = 0.09, EDGE = 0.03;
// From the axes of the screen: c upwards, then a towards the eye, then seen from a little above.
const TURNS = [[-90, "vx"], [-70, "vy"], [13, "vx"]];
const point = ([x, y, z]) => ({ x, y, z });
const sum = (...rows) => [0, 1, 2].map((k) => rows.reduce((total, row) => total + row[k], 0));

const saveAs = (name, href) => {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
};

const saveText = (name, text) => {
  const href = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  saveAs(name, href);
  URL.revokeObjectURL(href);
};

const drawBalls = (viewer, { kinds, balls, bonds }) => {
  for (const [number, kind] of kinds.entries()) {
    const shape = viewer.addShape({ color: `#${kind.colour}` });
    for (const [of, ...at] of balls) {
      if (of === number) shape.addSphere({ center: point(at), radius: kind.radius });
    }
    // each half of a bond in the colour of its atom
    for (const [first, second] of bonds.flatMap(([i, j]) => [[i, j], [j, i]])) {
      if (balls[first][0] !== number) continue;
      const [start, end] = [balls[first].slice(1), balls[second].slice(1)];
      const middle = sum(start, end).map((x) => x / 2);
      shape.addCylinder({ start: point(start), end: point(middle), radius: BOND });
    }
  }
};

const drawCell = (viewer, [a, b, c]) => {
  const origin = [0, 0, 0];
  const edges = [[a, b, c], [b, a, c], [c, a, b]].flatMap(([along, one, other]) =>
    [origin, one, other, sum(one, other)].map((from) => [from, sum(from, along)]));
  const shape = viewer.addShape({ color: "#76808b" });
  for (const [from, to] of edges) shape.addCylinder({ start: point(from), end: point(to), radius: EDGE });
  for (const [name, axis, color] of [["a", a, "#c0392b"], ["b", b, "#1e8449"], ["c", c, "#2e5fb3"]]) {
    const length = Math.hypot(...axis);
    const beyond = axis.map((x) => x * (1 + 1.5 / length));
    viewer.addArrow({ start: point(origin), end: point(axis.map((x) => x * (1 + 0.6 / length))),
      radius: 0.06, mid: 1 - 0.35 / length, color });
    viewer.addLabel(name, { position: point(beyond), fontColor: color, fontSize: 17, bold: true, showBackground: false,
      alignment: "center", inFront: true });
  }
};

const legend = ({ kinds, balls, total }) => {
  const line = document.createElement("p");
  line.className = "legend";
  for (const kind of kinds.slice(0, 12)) {
    const entry = document.createElement("span");
    const dot = document.createElement("i");
    dot.style.background = `#${kind.colour}`;
    entry.append(dot, `${kind.name} ${kind.sites}`);
    line.append(entry);
  }
  line.title = `${total} sites in the cell that is drawn, ${balls.length} atoms with those repeated on its faces`;
  return line;
};

const savers = (name, scene, viewer) => {
  const line = document.createElement("p");
  line.className = "save";
  const offer = (label, work) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.onclick = work;
    line.append(button);
  };
  const stem = name.replace(/\.(cif|vasp|poscar)(\.gz)?$/i, "").replace(/[^\w.-]+/g, "_") || "structure";
  const { cif, poscar } = scene.files;
  if (cif) offer("CIF", () => saveText(`${stem}.cif`, cif));
  if (poscar) offer("POSCAR", () => saveText(`${stem}.vasp`, poscar));
  if (viewer) offer("PNG", () => saveAs(`${stem}.png`, viewer.pngURI()));
  return line;
};

const steer = (box, viewer) => {
  box.tabIndex = 0;
  box.onkeydown = (event) => {
    const turn = { ArrowLeft: [-10, "vy"], ArrowRight: [10, "vy"], ArrowUp: [-10, "vx"], ArrowDown: [10, "vx"] }[event.key];
    if (!turn) return;
    event.preventDefault();
    viewer.rotate(...turn);
  };
};

const hasWebGL = () => {
  const canvas = document.createElement("canvas");
  return Boolean(canvas.getContext("webgl2") ?? canvas.getContext("webgl"));
};

const turnable = (image) => {
  const scene = JSON.parse(image.dataset.structure);
  if (!hasWebGL()) {
    image.after(savers(image.alt, scene, null));
    return;
  }
  const box = document.createElement("div");
  box.className = "drawn";
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `structure ${image.alt}, ${scene.total} sites`);
  box.title = "drag, or use the arrow keys; scroll to zoom";
  image.before(box);
  const viewer = $3Dmol.createViewer(box, { backgroundAlpha: 0, orthographic: true });
  viewer.setProjection("orthographic");
  drawCell(viewer, scene.cell);
  drawBalls(viewer, scene);
  for (const [degrees, axis] of TURNS) viewer.rotate(degrees, axis);
  viewer.zoomTo();
  viewer.zoom(1.8); // it leaves room for a sphere around the cell
  viewer.render();
  steer(box, viewer);
  box.after(legend(scene), savers(image.alt, scene, viewer));
  image.remove();
};
