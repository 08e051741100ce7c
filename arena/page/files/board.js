// The board: drawing, clicks, drag, and what the analysis shows upon it.

import { $, drawn, svg } from "./dom.js";

const FAR = 7; // pixels: from there on a press is a drag

export class Board {
  constructor(play) {
    this.play = play; // play(action)
    this.root = $("board");
    this.moves = [];
    this.places = {};
    this.clicked = [];
    this.preview = null;
    this.layers = {};
    for (const name of ["ground", "under", "cells", "above", "dots", "hits", "over"]) {
      this.layers[name] = svg("g", { class: name });
      this.root.append(this.layers[name]);
    }
    this.root.addEventListener("pointerdown", (event) => this.press(event));
    this.root.addEventListener("pointermove", (event) => this.drag(event));
    this.root.addEventListener("pointerup", (event) => this.release(event));
    this.root.addEventListener("pointercancel", () => this.drop());
  }

  // ── drawing ──

  show(picture, last) {
    this.picture = picture;
    this.last = last;
    this.preview = null;
    this.layers.hits.style.display = this.layers.dots.style.display = "";
    this.draw(picture, last);
  }

  draw(picture, last) {
    this.shown = picture;
    const [x, y, width, height] = picture.box;
    this.root.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    this.root.style.aspectRatio = `${width} / ${height}`;
    this.root.style.maxWidth = `${width * (["table", "text"].includes(picture.surface) ? 1 : 2.1)}px`;
    this.root.style.setProperty("--ratio", (width / height).toFixed(4));
    this.layers.ground.replaceChildren(...drawn(picture.ground));
    this.layers.under.replaceChildren(...last.map((cell) => this.area(cell, "last")));
    this.layers.cells.replaceChildren(
      ...Object.entries(picture.cells).map(([cell, markup]) => svg("g", { "data-cell": cell }, ...drawn(markup)))
    );
    this.layers.above.replaceChildren(...drawn(picture.above));
    this.layers.over.replaceChildren();
  }

  box(cell) {
    let [row, column] = cell.split(",").map(Number);
    const { xs, ys, turned } = this.shown;
    if (turned) [row, column] = [ys.length - 2 - row, xs.length - 2 - column];
    return { x: xs[column], y: ys[row], width: xs[column + 1] - xs[column], height: ys[row + 1] - ys[row] };
  }

  middle(cell) {
    const { x, y, width, height } = this.box(cell);
    return [x + width / 2, y + height / 2];
  }

  area(cell, kind) {
    const { x, y, width, height } = this.box(cell);
    return svg("rect", { x, y, width, height, class: kind });
  }

  // ── moves ──

  offer(moves, places, can) {
    this.moves = can ? moves : [];
    this.places = places;
    this.clicked = [];
    this.isMoving = this.moves.some((move) => move.paths.some((path) => path.length > 1));
    this.root.style.touchAction = this.isMoving ? "none" : "manipulation";
    this.pick([]);
    this.step();
  }

  // What can be clicked next: places, with the moves that each one leads to.
  next() {
    const found = new Map();
    const depth = this.clicked.length;
    for (const move of this.moves) {
      for (const path of move.paths) {
        if (path.length > depth && this.clicked.every((place, i) => path[i] === place)) {
          if (!found.has(path[depth])) found.set(path[depth], []);
          found.get(path[depth]).push({ move, ends: path.length === depth + 1 });
        }
      }
    }
    return found;
  }

  step() {
    const next = this.next();
    const start = this.clicked.length ? this.starts() : new Set();
    const hits = [];
    for (const place of new Set([...next.keys(), ...start])) {
      hits.push(...this.hit(place, this.clicked.includes(place) ? "hit on" : "hit"));
    }
    if (this.clicked.length) for (const place of this.clicked) if (!next.has(place) && !start.has(place)) hits.push(...this.hit(place, "hit on"));
    this.layers.hits.replaceChildren(...hits);
    const free = this.shown ? (this.shown.xs.length - 1) * (this.shown.ys.length - 1) - Object.keys(this.shown.cells).length : 0;
    const isFew = [...next.values()].every((found) => found.every(({ ends }) => ends)) && next.size < 0.6 * free;
    const dots = this.clicked.length || (isFew && this.shown?.surface !== "holes" && this.shown?.surface !== "dots");
    this.layers.dots.replaceChildren(...(dots ? [...next.keys()].map((place) => this.dot(place, next.get(place))) : []));
  }

  starts() {
    return new Set(this.moves.flatMap((move) => move.paths.map((path) => path[0])));
  }

  dot(place, found) {
    const cell = found[0].ends ? found[0].move.cells.find((each) => this.places[place]?.includes(each)) ?? place : place;
    if (this.shown.surface === "cards") return this.area(cell, "may");
    const [cx, cy] = this.middle(cell);
    return svg("circle", { class: "dot", cx, cy, r: 6 });
  }

  hit(place, kind) {
    const cells = this.places[place] ?? [place];
    const boxes = cells.map((cell) => this.box(cell));
    const x = Math.min(...boxes.map((box) => box.x)), y = Math.min(...boxes.map((box) => box.y));
    const right = Math.max(...boxes.map((box) => box.x + box.width)), bottom = Math.max(...boxes.map((box) => box.y + box.height));
    const width = right - x, height = bottom - y;
    const common = { class: kind, "data-place": place };
    if (Math.min(width, height) >= 20) return [svg("rect", { ...common, x, y, width, height })];
    const [cx, cy] = [x + width / 2, y + height / 2]; // a line: reaches to the middles of its neighbours
    const [dx, dy] = [Math.max(width / 2, 20), Math.max(height / 2, 20)];
    return [svg("polygon", { ...common, points: `${cx - dx},${cy} ${cx},${cy - dy} ${cx + dx},${cy} ${cx},${cy + dy}` })];
  }

  choose(place) {
    const found = this.next().get(place);
    if (!found) {
      const again = this.clicked.length > 0;
      this.clicked = [];
      if (again && this.starts().has(place)) return this.choose(place);
      this.step();
      return;
    }
    const ending = [...new Set(found.filter(({ ends }) => ends).map(({ move }) => move))];
    if (ending.length === 1) {
      this.clicked = [];
      this.step();
      this.play(ending[0].action);
    } else if (ending.length > 1) {
      this.clicked.push(place);
      this.step();
      this.pick(ending);
    } else {
      this.clicked.push(place);
      this.step();
    }
  }

  pick(moves) {
    const box = $("pick");
    box.hidden = moves.length === 0;
    const arePieces = moves.length > 0 && new Set(moves.map((move) => move.piece)).size === moves.length && moves.every((move) => move.piece);
    box.replaceChildren(
      ...moves.map((move) => {
        const button = document.createElement("button");
        if (arePieces) {
          const title = svg("title");
          title.textContent = move.name;
          button.append(svg("svg", { viewBox: "-22 -22 44 44", width: 44, height: 44 }, title, ...drawn(move.piece)));
          button.setAttribute("aria-label", move.name);
        } else button.textContent = move.name;
        button.onclick = () => {
          this.clear();
          this.play(move.action);
        };
        return button;
      })
    );
    box.className = arePieces ? "pieces" : "";
    if (moves.length) this.place(box, moves[0].cells[0] ?? this.clicked.at(-1));
    box.querySelector("button")?.focus();
  }

  // Beside a cell, within the stage.
  place(box, cell) {
    const [x, y] = cell ? this.middle(cell) : this.middle("0,0");
    const at = new DOMPoint(x, y).matrixTransform(this.root.getScreenCTM()), stage = box.parentElement.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    const left = Math.min(Math.max(at.x - stage.x - width / 2, 0), Math.max(stage.width - width, 0));
    const top = Math.min(Math.max(at.y - stage.y + 24, 0), Math.max(stage.height - height, 0));
    box.style.left = `${left}px`;
    box.style.top = `${top}px`;
  }

  clear() {
    this.clicked = [];
    this.pick([]);
    this.step();
  }

  // ── pointer ──

  point(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.root.getScreenCTM().inverse());
    return [at.x, at.y];
  }

  press(event) {
    if (event.button !== 0) return;
    this.pressed = null;
    const place = event.target.dataset?.place;
    if (place === undefined) {
      if (this.clicked.length) this.clear();
      return;
    }
    this.pressed = { place, x: event.clientX, y: event.clientY, carried: null };
    if (this.isMoving) this.root.setPointerCapture(event.pointerId);
  }

  drag(event) {
    const pressed = this.pressed;
    if (!pressed || !this.isMoving) return;
    if (!pressed.carried && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > FAR) {
      this.clicked = [];
      this.choose(pressed.place);
      const move = this.moves.find((each) => each.origin && each.paths.some((path) => path[0] === pressed.place));
      const origin = move && this.layers.cells.querySelector(`[data-cell="${move.origin}"]`);
      if (!origin || !this.clicked.length) return void (this.pressed = null);
      pressed.carried = svg("g", { class: "carried" }, ...[...origin.childNodes].map((node) => node.cloneNode(true)));
      pressed.origin = origin;
      pressed.from = this.middle(move.origin);
      origin.style.opacity = 0.25;
      this.layers.over.append(pressed.carried);
    }
    if (pressed.carried) {
      const [x, y] = this.point(event);
      pressed.carried.setAttribute("transform", `translate(${x - pressed.from[0]} ${y - pressed.from[1]})`);
    }
  }

  release(event) {
    const pressed = this.pressed;
    this.pressed = null;
    if (!pressed) return;
    if (!pressed.carried) return this.choose(pressed.place);
    this.lay(pressed);
    const under = document.elementFromPoint(event.clientX, event.clientY)?.dataset?.place;
    if (under !== undefined && under !== pressed.place && this.next().has(under)) this.choose(under);
    else this.clear();
  }

  drop() {
    if (this.pressed?.carried) this.lay(this.pressed);
    this.pressed = null;
    this.clear();
  }

  lay(pressed) {
    pressed.carried.remove();
    pressed.origin.style.opacity = "";
  }

  // ── what the analysis shows ──

  rings(list) {
    if (this.preview) return;
    const carried = this.pressed?.carried;
    this.layers.over.replaceChildren(...list.flatMap((each) => this.ring(each)), ...(carried ? [carried] : []));
  }

  ring({ move, weight, label, isBest }) {
    const colour = isBest ? "var(--point)" : "#2e8b57";
    const opacity = isBest ? 0.85 : 0.25 + 0.5 * weight;
    if (move.origin && move.cells.length) return this.arrow(move.origin, move.cells[0], colour, opacity, 2 + 7 * weight);
    const cell = move.cells[0];
    if (!cell) return [];
    const [cx, cy] = this.middle(cell);
    const { width, height } = this.box(cell);
    if (Math.min(width, height) < 20) {
      const [dx, dy] = width > height ? [width / 2 - 4, 0] : [0, height / 2 - 4];
      return [svg("line", { class: "ring", x1: cx - dx, y1: cy - dy, x2: cx + dx, y2: cy + dy, stroke: colour, "stroke-width": 4 + 4 * weight, opacity })];
    }
    const r = 0.36 * Math.min(width, height);
    const words = svg("text", { x: cx, y: cy, "font-size": 9.5 });
    words.textContent = label;
    return [svg("g", { class: "ring" }, svg("circle", { cx, cy, r, fill: colour, opacity }), words)];
  }

  arrow(from, to, stroke, opacity, width) {
    const [x1, y1] = this.middle(from), [x2, y2] = this.middle(to);
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const head = Math.min(14, 0.4 * length), [bx, by] = [x2 - head * ux, y2 - head * uy];
    const d = `M${x1} ${y1}L${bx} ${by}`;
    const points = `${x2},${y2} ${bx - 0.6 * head * uy},${by + 0.6 * head * ux} ${bx + 0.6 * head * uy},${by - 0.6 * head * ux}`;
    return [svg("g", { class: "ring", opacity }, svg("path", { class: "arrow", d, stroke, "stroke-width": width }), svg("polygon", { points, fill: stroke }))];
  }

  // A line of moves, as the board behind it with numbers where they went.
  line(data) {
    this.preview = data;
    this.draw(data.picture, []);
    this.layers.hits.style.display = this.layers.dots.style.display = "none";
    const last = new Map();
    data.steps.forEach((cells, i) => cells.length && last.set(cells[0], i + 1));
    for (const [cell, number] of last) {
      const [cx, cy] = this.middle(cell);
      const words = svg("text", { x: cx, y: cy, "font-size": 11 });
      words.textContent = number;
      this.layers.over.append(svg("g", { class: "step" }, svg("circle", { cx, cy, r: 9 }), words));
    }
  }

  endLine() {
    if (!this.preview) return;
    this.preview = null;
    this.draw(this.picture, this.last);
    this.layers.hits.style.display = this.layers.dots.style.display = "";
  }
}
