// Beside the board: seats, analysis, the value curve, moves with variations, EVAL.

import { $, el, svg } from "./dom.js";

// A node of the game, as the server sends it.
export const node = (row) => {
  const [number, parent, name, mover, values, exact, verdict, over, hints, isTakenBack] = row;
  return { number, parent, name, mover, values, exact, verdict, over, hints, isTakenBack, children: [] };
};

// Children of each node, the main line first and what was taken back last, and the number of its round: it grows where the turn comes back to an earlier seat.
export function number(nodes) {
  nodes[0].round = 1;
  nodes[0].last = null;
  for (const each of nodes) {
    if (each.parent === null) continue;
    const parent = nodes[each.parent];
    const before = each.isTakenBack ? -1 : parent.children.findIndex((other) => other.isTakenBack);
    if (before < 0) parent.children.push(each);
    else parent.children.splice(before, 0, each);
    each.by = parent.mover;
    const isTurn = each.by !== -1;
    each.begins = isTurn && (parent.last === null || each.by < parent.last);
    each.round = parent.round + (each.begins && parent.last !== null ? 1 : 0);
    each.last = isTurn ? each.by : parent.last;
  }
}

export const COLOURS = ["#1f5fa8", "#d1661a", "#2e8b57", "#7a4fa3", "#b8860b", "#c8442f"];
const CHIPS = { black: "#2b3038", white: "#fdfdfb", red: "#c8442f", yellow: "#edc343", blue: "#2a68b0", orange: "#d1661a", green: "#2e8b57", purple: "#7a4fa3" };

export function value(state, utility) {
  if (utility === null || utility === undefined) return "";
  if (state.scale !== 1) return `${Math.round(utility * state.scale * 100) / 100}`;
  return `${utility < -0.0049 ? "−" : utility > 0.0049 ? "+" : ""}${Math.abs(utility).toFixed(2)}`;
}

export const chip = (state, seat) => CHIPS[state.colours[seat]] ?? COLOURS[seat];

export function nameOf(state, seat) {
  if (state.names.length) return state.names[seat] || `player ${seat}`;
  const humans = state.seats.filter((each) => each.text === "human").length;
  if (state.seats[seat].text !== "human") return state.seats[seat].shown;
  return humans === 1 ? "you" : state.colours[seat] || `player ${seat}`;
}

// ── seats ──

export function seats(state, players, send) {
  const cards = state.seats.map((each, seat) => {
    const isTurn = state.mover === seat && !state.outcome;
    const listed = [...players.map((player) => player.text)];
    if (!listed.includes(each.text)) listed.push(each.text);
    const select = el("select", { "aria-label": `player ${seat}`, onchange: () => choosePlayer(select, each.text, (player) => send("seat", { seat, player })) });
    for (const text of listed) select.append(el("option", { value: text, selected: text === each.text }, text === "human" ? "a person" : text));
    select.append(el("option", { value: "…" }, "another player …"));
    const name = state.names.length ? el("b", {}, state.names[seat] || `player ${seat}`) : select;
    const result = state.outcome ? el("em", {}, value(state, state.outcome[seat])) : null;
    return el("div", { class: isTurn ? "seat turn" : "seat" }, el("i", { style: `background:${chip(state, seat)}` }), state.hides || state.players > 2 ? el("small", {}, seat) : null, name, result);
  });
  const isOpen = $("seats").contains(document.activeElement) && document.activeElement.tagName === "SELECT";
  if (!isOpen) $("seats").replaceChildren(...cards);
}

export function choosePlayer(select, before, take) {
  select.blur(); // keys are the page's again
  if (select.value !== "…") return take(select.value);
  const text = window.prompt("A player, as in alphabeta:depth=6 or uct:sims=1000", before === "human" ? "" : before);
  if (text) take(text.trim());
  else select.value = before;
}

// ── analysis ──

export function weights(found) {
  const rows = found.candidates;
  const most = Math.max(...rows.map((row) => row.visits ?? 0), 0);
  const best = Math.max(...rows.map((row) => row.value ?? -Infinity));
  return rows.map((row) => (most > 0 ? (row.visits ?? 0) / most : row.value === null ? 0 : Math.exp(6 * (row.value - best))));
}

export function candidates(state, found, viewer, hover, isCompiling) {
  if (!found) {
    $("found").textContent = state.analyses && !state.outcome ? (state.mover === -1 ? "chance moves here" : state.seat !== null && state.seat !== state.mover ? "shown when it is your turn" : isCompiling ? "compiling the search, the first time only …" : "preparing the search …") : "";
    $("candidates").replaceChildren();
    return;
  }
  const rate = found.seconds > 0.3 && found.nodes > 100 ? `, ${Math.round(found.nodes / found.seconds).toLocaleString("en")}/s` : "";
  const proven = found.proven ? ", proven" : found.over ? ", ended" : "";
  if (found.candidates.every((each) => each.value === null)) $("found").textContent = "a mixed strategy: the probability of each move";
  else $("found").textContent = `${found.nodes.toLocaleString("en")} ${found.candidates.some((each) => each.visits !== null) ? "simulations" : "positions"}${rate}, depth ${found.depth}${proven}`;
  const rows = found.candidates.slice(0, 24);
  const has = (key) => rows.some((row) => row[key] !== null);
  const head = el("tr", {}, el("th", {}, "move"), el("th", {}, "value"), has("visits") ? el("th", {}, "visits") : null, has("prior") ? el("th", {}, "policy") : null, el("th", {}, ""));
  const body = rows.map((row, i) => {
    const utility = row.utilities ? row.utilities[viewer] : viewer === found.mover ? row.value : null;
    const bound = row.bound === "upper" || row.bound === "lower" ? "≈" : row.proven ? "=" : "";
    return el(
      "tr",
      { class: i === 0 ? "best" : has("visits") && row.visits < 0.01 * found.candidates[0].visits ? "few" : "", onclick: () => hover.play(row.action), onmouseenter: () => row.line.length && hover.show(row.line.slice(0, 12)) },
      el("td", {}, row.name), el("td", {}, utility === null || utility === undefined ? "" : bound + value(state, utility)),
      has("visits") ? el("td", {}, (row.visits ?? 0).toLocaleString("en")) : null,
      has("prior") ? el("td", {}, row.prior === null ? "" : `${(100 * row.prior).toFixed(1)}%`) : null,
      el("td", { class: "pv" }, row.names.slice(1, 9).join(" "))
    );
  });
  $("candidates").onmouseleave = () => hover.end();
  $("candidates").replaceChildren(el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
}

export function rings(state, found, moves, shown, viewer) {
  const byAction = new Map(moves.map((move) => [move.action, move]));
  if (shown === "target" && state.target) {
    const most = Math.max(...Object.values(state.target));
    return Object.entries(state.target).filter(([, share]) => share > 0.01).map(([action, share]) => ({ move: byAction.get(Number(action)), weight: share / most, label: percent(share), isBest: share === most })).filter((each) => each.move);
  }
  if (!found || shown === "off" || shown === "target") return [];
  const shares = shown === "policy" ? found.candidates.map((row) => row.prior ?? 0) : weights(found);
  const most = Math.max(...shares, 1e-9);
  return found.candidates
    .map((row, i) => ({ row, weight: shares[i] / most, share: shares[i], isBest: shown === "search" ? i === 0 : shares[i] === most }))
    .filter(({ row }) => shown === "policy" || row.visits !== 0)
    .filter(({ row, weight }) => byAction.has(row.action) && weight > (byAction.get(row.action).origin ? 0.2 : 0.04))
    .slice(0, moves.some((move) => move.origin) ? 4 : 12)
    .reverse()
    .map(({ row, weight, share, isBest }) => {
      const utility = row.utilities ? row.utilities[viewer] : viewer === found.mover ? row.value : null;
      return { move: byAction.get(row.action), weight, isBest, label: shown === "policy" ? percent(share) : value(state, utility).replace("0.", ".").replace(".00", "") || "0" };
    });
}

const percent = (share) => `${Math.round(100 * share)}%`;

export function bar(state, found, at, viewer, hidden) {
  const values = found?.utilities ?? at?.values;
  $("bar").hidden = hidden || !values || !state.is_sum_zero || state.scale !== 1;
  if ($("bar").hidden) return;
  $("bar").firstElementChild.style.height = `${50 * (1 + values[viewer])}%`;
  $("bar").firstElementChild.style.background = chip(state, viewer);
  $("bar").style.background = chip(state, 1 - viewer);
  $("bar").title = `${value(state, values[viewer])} for ${nameOf(state, viewer)}`;
}

// ── the curve ──

export function curve(state, nodes, viewer, go, hidden) {
  const line = state.line.map((number) => nodes[number]);
  const width = Math.max(line.length - 1, 1), height = 92, y = (utility) => height / 2 - utility * (height / 2 - 6);
  const seats = state.is_sum_zero ? [viewer] : [...state.seats.keys()];
  const parts = [svg("line", { x1: 0, x2: width, y1: height / 2, y2: height / 2, stroke: "var(--line)", "stroke-width": 1, "vector-effect": "non-scaling-stroke" })];
  for (const seat of hidden ? [] : seats) {
    const known = line.map((each, i) => [i, each.values]).filter(([, values]) => values);
    const points = known.map(([i, values]) => `${i},${y(values[seat]).toFixed(1)}`);
    const look = { "vector-effect": "non-scaling-stroke", "stroke-width": 2, fill: "none", stroke: seats.length === 1 ? "var(--point)" : chip(state, seat) };
    if (points.length) parts.push(svg("path", { ...look, d: `M${points.join("L")}` }));
    parts.push(svg("path", { ...look, "stroke-width": 5, "stroke-linecap": "round", d: points.map((point) => `M${point}h0`).join("") }));
    if (seats.length === 1 && points.length > 1) parts.push(svg("path", { fill: "var(--point)", opacity: 0.12, d: `M${known[0][0]},${height / 2}L${points.join("L")}L${known.at(-1)[0]},${height / 2}z` }));
  }
  const marks = hidden ? [] : line.map((each, i) => [i, each]).filter(([, each]) => each.verdict);
  for (const [i, each] of marks) parts.push(svg("line", { x1: i, x2: i, y1: height - 8, y2: height, "stroke-width": 3, "vector-effect": "non-scaling-stroke", stroke: each.verdict === "?" ? "var(--warn)" : "var(--bad)" }));
  const at = state.line.indexOf(state.at);
  parts.push(svg("line", { x1: at, x2: at, y1: 0, y2: height, stroke: "var(--ink)", opacity: 0.5, "stroke-width": 1, "vector-effect": "non-scaling-stroke" }));
  const root = $("curve");
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.replaceChildren(...parts);
  root.onclick = (event) => {
    const box = root.getBoundingClientRect();
    const at = Math.round(((event.clientX - box.left) / box.width) * width);
    go(state.line[Math.min(Math.max(at, 0), state.line.length - 1)]);
  };
}

// ── moves ──

const LONG_DEAL = 8; // moves of chance

// The moves of chance from here on, without variations.
function run(first) {
  const found = [];
  for (let at = first; at?.by === -1 && (at === first || found.at(-1).children.length === 1); at = at.children[0]) found.push(at);
  return found;
}

export function moves(state, nodes, hidden, go) {
  const box = $("moves");
  const verdicts = !hidden;
  const word = (each) => {
    const kind = each.verdict === "?" ? "mistake" : each.verdict && verdicts ? "blunder" : "";
    const mark = verdicts && (each.verdict === "?" || each.verdict === "??") ? each.verdict : "";
    const words = [el("a", { class: `${each.number === state.at ? "at" : ""} ${verdicts ? kind : ""} ${each.by === -1 ? "roll" : ""}`, "data-node": each.number, onclick: () => go(each.number) }, each.name + mark)];
    if (verdicts && each.verdict.length > 2) words.push(el("span", { class: "verdict" }, each.verdict));
    return words;
  };
  const out = el("div");
  const work = [{ first: nodes[0].children[0], into: out }];
  while (work.length) {
    const { first, into } = work.pop();
    for (let at = first; at; at = at.children[0]) {
      const dealt = run(at);
      if (dealt.length > LONG_DEAL) { // cards that are dealt, one by one
        at = dealt.at(-1);
        const isHere = dealt.some((each) => each.number === state.at);
        into.append(el("a", { class: `${isHere ? "at" : ""} roll`, "data-node": at.number, onclick: ((number) => () => go(number))(at.number) }, "the deal"), " ");
        continue;
      }
      if (at.begins) into.append(el("span", { class: "number" }, `${at.round}.`));
      else if (at === first && at.by !== -1) into.append(el("span", { class: "number" }, `${at.round}. …`));
      into.append(...word(at), " ");
      for (const other of at === first && into !== out ? [] : nodes[at.parent].children.slice(1)) {
        const variation = el("div", { class: "variation" });
        into.append(variation);
        work.push({ first: other, into: variation });
      }
    }
  }
  box.replaceChildren(out);
  const here = box.querySelector(".at");
  if (here) box.scrollTop = Math.max(0, here.offsetTop - box.offsetTop - box.clientHeight / 2);
  else box.scrollTop = 0;
}

// ── EVAL ──

export function evaluation(state) {
  if (!state.eval) return void $("eval").replaceChildren(el("p", { class: "small" }, "no features here"));
  const [[, mover, , total], ...rows] = state.eval;
  const sum = rows.reduce((all, row) => all + row[3], 0);
  const number = (each) => `${Math.round(1000 * each) / 1000}`;
  $("eval").replaceChildren(
    el("p", { class: "small" }, `EVAL ${value(state, total)} for ${nameOf(state, mover)}, who is to move`),
    el("table", {}, el("thead", {}, el("tr", {}, ...["feature", "value", "weight", "product"].map((word) => el("th", {}, word)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, el("td", {}, row[0]), ...row.slice(1).map((each) => el("td", {}, number(each))))), el("tr", {}, el("td", {}, "sum"), el("td"), el("td"), el("td", {}, number(sum)))))
  );
}
