// The page: one table of the server, whose events are drawn, and what a person does, sent as commands.

import { ask, Events } from "./api.js";
import { Board } from "./board.js";
import * as dialogs from "./dialogs.js";
import { $, el } from "./dom.js";
import * as panels from "./panels.js";

const SLOW = 8; // seconds after which a player counts as slow

let table = null, state = null, found = null, offered = null, nodes = [], players = [], chosenViewer = null, busySince = 0, line = 0, asked = null, isCompiling = false;

const board = new Board((action) => send("play", { node: state.at, action }));
const events = new Events({ state: onState, moves: onMoves, found: onFound, forms: onForms, compiling: onCompiling, closed: () => lost("closed") }, lost);

async function send(command, given = {}) {
  try {
    const answer = await ask(`api/tables/${table}/${command}`, given);
    if ($("banner").classList.contains("mild")) banner(""); // of an earlier command
    return answer;
  } catch (error) {
    banner(error.message, true);
    if (command === "play" && state) draw();
    return null;
  }
}

// ── a table ──

function open(answer, given) {
  const games = answer.games ?? [];
  const select = $("games");
  select.hidden = games.length === 0;
  select.replaceChildren(...games.map((words, number) => el("option", { value: number, selected: number === given.file.number }, words)));
  select.onchange = async () => {
    const other = { ...given, file: { ...given.file, number: Number(select.value) } };
    await ask("api/tables", other).then((found) => open(found, other), (error) => banner(error.message));
  };
  location.hash = answer.table;
}

function enter() {
  const name = location.hash.slice(1);
  if (/^[0-9a-f]{8}$/.test(name)) {
    table = name;
    state = found = offered = chosenViewer = null;
    isTurned = false;
    document.querySelector("main").hidden = true;
    banner("");
    events.open(table, false);
  } else {
    table = null;
    events.open(null);
    $("main")?.setAttribute("hidden", "");
    dialogs.newGame(null, open).catch((error) => banner(error.message));
  }
}

function lost(how) {
  if (!how) return void (banner.kind === "lost" && banner(""));
  if (how === "waiting") banner("The server does not answer. Trying again …");
  else {
    banner("This game is not at the server any more: it was started again, or the game was closed.");
    $("banner").append(el("button", { onclick: () => dialogs.newGame(state?.game, open) }, "New game"));
  }
  banner.kind = "lost";
}

function banner(text, mild = false) {
  banner.kind = "";
  $("banner").className = mild ? "mild" : "";
  $("banner").replaceChildren(text);
  $("banner").hidden = !text;
  clearTimeout(banner.timer);
  if (mild) banner.timer = setTimeout(() => banner(""), 6000);
}

// ── events ──

function onState(data) {
  const isNew = !state || state.game !== data.game;
  const moved = !state || state.at !== data.at || state.seat !== data.seat || isFlipping;
  isFlipping = false;
  state = data;
  nodes = data.nodes.map(panels.node);
  panels.number(nodes);
  busySince = data.busy ? performance.now() - 1000 * data.busy.seconds : 0;
  if (moved) {
    offered = found = null;
    lineShown = "";
    line += 1;
    board.show(data.picture, data.last);
    board.offer([], {}, false);
  }
  if (isNew) {
    askPlayers();
    const isForSecond = data.picture.surface === "checkered" && data.players === 2 && data.seats[0].text !== "human" && data.seats[1].text === "human";
    if (isForSecond && asked !== table) setTimeout(() => state === data && flip(true));
    asked = table;
  }
  document.querySelector("main").hidden = false;
  draw();
}

function onMoves(data) {
  if (!state || data.node !== state.at) return;
  offered = data;
  draw();
}

function onFound(data) {
  if (data && (!state || data.node !== state.at)) return;
  found = data;
  if (found?.utilities && !nodes[state.at].exact) nodes[state.at].values = found.utilities;
  if (state) drawFound();
}

function onForms(data) {
  $("forms").replaceChildren(...data.forms.map((form) => el("a", { href: `api/tables/${table}/save/${form}`, download: "" }, `as .${form}`)));
}

function onCompiling(data) {
  isCompiling = data;
  if (!state) return;
  drawStatus();
  drawFound();
}

async function askPlayers() {
  const game = state.game;
  const answer = await ask(`api/players?game=${encodeURIComponent(game)}`).catch(() => ({ players: [] }));
  if (state?.game !== game) return; // another table since
  players = answer.players;
  draw();
}

// ── drawing ──

const viewer = () => {
  if (state.seat !== null && state.seat >= 0) return state.seat; // whose view is shown
  if (chosenViewer !== null && chosenViewer < state.players) return chosenViewer;
  const humans = state.seats.map((each, seat) => [each.text, seat]).filter(([text]) => text === "human");
  return humans.length === 1 ? humans[0][1] : 0;
};

// What the analysis finds stays hidden until the game is over, also while a person looks back.
const isHidden = () => state.hidden && !nodes[state.line.at(-1)].over;

const isMine = () => {
  if (state.outcome || state.busy || state.mover === null) return false;
  if (state.seat !== null) return state.mover === state.seat;
  if (state.mover === -1) return state.asks_dice || !state.playing;
  return !state.playing || state.seats[state.mover].text === "human";
};

function draw() {
  const can = isMine();
  panels.seats(state, players, send);
  $("title").textContent = state.title ? `${state.game} · ${state.title}` : state.game;
  document.title = `${state.game} – zermelo`;
  if (offered) {
    if (board.offered !== offered || board.could !== can) board.offer(offered.moves, offered.places, can);
    board.offered = offered;
    board.could = can;
    $("board").dataset.node = offered.node;
    drawButtons(can);
  }
  drawStatus();
  $("note").textContent = state.picture.note;
  $("flip").hidden = !["checkered", "lines", "green squares"].includes(state.picture.surface);
  $("undo").disabled = state.line[0] === state.at;
  const has = state.seats.some((each) => each.text !== "human") || state.has_dice;
  $("resume").hidden = !has || Boolean(state.outcome);
  $("resume").textContent = state.playing ? "Pause" : "Play on";
  $("resume").className = state.playing ? "" : "first";
  $("resign").disabled = Boolean(state.outcome) || state.mover === null || state.mover === -1 || !can;
  $("hint").disabled = Boolean(state.outcome) || !can;
  $("analyse").checked = state.analyses;
  $("hide").checked = state.hidden;
  $("solve").checked = state.solves;
  $("dice").checked = state.asks_dice;
  $("dicebox").hidden = !state.has_dice || state.seat !== null;
  $("solve").closest("p").hidden = $("tree").closest("p").hidden = state.hides;
  $("save").hidden = state.seat !== null;
  $("text").value = state.text;
  fillSelects();
  panels.moves(state, nodes, isHidden(), (number) => send("go", { node: number }));
  panels.evaluation(state);
  drawFound();
  if (state.trouble) banner(state.trouble, false);
  else if (banner.kind !== "lost" && !$("banner").classList.contains("mild")) banner("");
}

function fillSelects() {
  const texts = players.map((each) => each.text).filter((text) => text !== "human" && text !== "random");
  if (!texts.includes(state.analyst)) texts.push(state.analyst);
  const key = `${texts} ${state.analyst}`;
  if ($("analyst").dataset.key !== key) {
    $("analyst").dataset.key = key;
    $("analyst").replaceChildren(...texts.map((text) => el("option", { value: text, selected: text === state.analyst }, text)), el("option", { value: "…" }, "another player …"));
  }
  const names = state.seats.map((_, seat) => panels.nameOf(state, seat));
  if ($("viewer").dataset.key !== `${names}`) {
    $("viewer").dataset.key = `${names}`;
    $("viewer").replaceChildren(...names.map((name, seat) => el("option", { value: seat }, state.seats[seat].text === "human" || state.names.length ? name : `${name} (${state.colours[seat] || seat})`)));
  }
  $("viewer").value = viewer();
}

function drawStatus() {
  let text = "", extra = [];
  if (state.outcome) text = verdict();
  else if (state.busy) {
    const seconds = (performance.now() - busySince) / 1000;
    text = `${isCompiling ? "compiling " : ""}${state.seats[state.busy.seat].shown}${isCompiling ? ", the first time only" : " is choosing"}${seconds > 1 ? `, ${seconds.toFixed(0)} s` : " …"}`;
    if (seconds > SLOW) extra = [el("button", { onclick: () => send("stop") }, "Stop it")];
  } else if (state.mover === -1) text = isMine() ? (state.hides ? "deal below" : "enter the dice below") : state.hides ? "cards are dealt" : "the dice are rolled";
  else if (state.seat === -1) {
    text = `hidden until ${panels.nameOf(state, state.mover)} looks, and nobody else`;
    extra = [el("button", { class: "first", onclick: () => send("ready") }, "I am ready")];
  }
  else {
    const name = panels.nameOf(state, state.mover);
    const human = state.seats[state.mover].text === "human";
    text = human || state.playing ? (name === "you" ? "your move" : `${name} to move`) : `${name} to move; the players wait`;
  }
  const key = `${text} ${extra.length}`;
  if ($("status").dataset.key === key) return;
  $("status").dataset.key = key;
  $("status").replaceChildren(text, ...extra);
}

function verdict() {
  const best = Math.max(...state.outcome), winners = state.outcome.map((each, seat) => [each, seat]).filter(([each]) => each === best);
  const why = state.ending && state.ending !== "max_plies" ? ` (${state.ending})` : state.ending ? " (the longest game that the rules allow)" : "";
  const shown = state.scale !== 1 || state.players > 2 ? `: ${state.outcome.map((each, seat) => `${panels.nameOf(state, seat)} ${panels.value(state, each)}`).join(", ")}` : "";
  if (winners.length === state.players) return `a draw${why}`;
  const names = winners.map(([, seat]) => panels.nameOf(state, seat)).join(" and ");
  return `${names} ${names === "you" || winners.length > 1 ? "win" : "wins"}${why}${shown}`;
}

// Moves that have no place on the board, or all of them where few have one.
function drawButtons(can) {
  const list = can ? offered.moves.filter((move) => !move.paths.length) : [];
  const words = (move) => (move.chance ? `${move.name} (${(100 * move.chance).toFixed(0)} %)` : move.name);
  $("buttons").replaceChildren(...list.map((move) => el("button", { onclick: () => send("play", { node: state.at, action: move.action }) }, words(move))));
  $("legal").replaceChildren(...offered.moves.map((move) => el("option", { value: move.name })));
}

function drawFound() {
  const hidden = isHidden() && hintAt !== state.at;
  $("hide").parentElement.title = "the analysis is recorded, and shown when the game is over";
  const hover = { show: showLine, end: endLine, play: (action) => isMine() && send("play", { node: state.at, action }) };
  panels.candidates(state, hidden ? null : found, viewer(), hover, isCompiling);
  if (hidden) $("found").textContent = state.analyses ? "hidden, yet recorded; a hint shows it" : "off; a hint starts it";
  const shown = $("rings").value;
  const list = hidden && shown !== "target" ? [] : offered ? panels.rings(state, found, offered.moves, shown, viewer()) : [];
  board.rings(list);
  panels.bar(state, found, nodes[state.at], viewer(), hidden);
  panels.curve(state, nodes, viewer(), (number) => send("go", { node: number }), hidden);
}

let hintAt = null;
let isTurned = false;
let isFlipping = false; // the next picture is turned, of the same position

function flip(turned) {
  isTurned = turned;
  isFlipping = true;
  events.open(table, turned);
}

// ── lines on the board ──

const OFTEN = 300; // milliseconds between two lines: the best one changes while the search runs
let lineShown = "", lineAt = 0;

async function showLine(actions) {
  const key = `${state.at}: ${actions}`;
  if (key === lineShown || performance.now() - lineAt < OFTEN) return;
  const mine = ++line;
  [lineShown, lineAt] = [key, performance.now()];
  const data = await ask(`api/tables/${table}/line`, { node: state.at, actions, turned: isTurned }).catch(() => null);
  if (data && mine === line) board.line(data);
}

function endLine() {
  line += 1;
  [lineShown, lineAt] = ["", 0];
  board.endLine();
  drawFound();
}

// ── what a person does ──

const step = (by) => {
  const at = state.line.indexOf(state.at) + by;
  if (at >= 0 && at < state.line.length) send("go", { node: state.line[at] });
};
const actions = {
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  Home: () => send("go", { node: state.line[0] }),
  End: () => send("go", { node: state.line.at(-1) }),
  " ": () => !$("resume").hidden && send(state.playing ? "stop" : "resume"),
  u: () => send("undo"),
  h: hint,
  f: () => flip(!isTurned),
  a: () => send("analyse", { on: !state.analyses }),
  m: nextMistake,
  n: () => dialogs.newGame(state?.game, open),
  "/": () => $("word").focus(),
  Escape: () => board.clear(),
};

function hint() {
  hintAt = state.at;
  send("hint");
}

function nextMistake() {
  const at = state.line.indexOf(state.at);
  const next = [...state.line.slice(at + 1), ...state.line.slice(0, at)].find((number) => nodes[number].verdict);
  if (isHidden()) banner("Mistakes are shown when the game is over.", true);
  else if (next === undefined) banner("No mistake is known in this game. “Analyse all” looks at every position.", true);
  else send("go", { node: next });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("dialog").open || !state) return;
  if (event.target.closest("input, select, textarea") || (event.target.closest("button") && event.key === " ")) return;
  const act = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

for (const button of document.querySelectorAll("[data-key]")) button.onclick = () => actions[button.dataset.key]();
$("new").onclick = () => dialogs.newGame(state?.game, open).catch((error) => banner(error.message));
$("open").onclick = () => dialogs.openFile(state?.game, open).catch((error) => banner(error.message));
$("runs").onclick = () => dialogs.runs(open).catch((error) => banner(error.message));
$("help").onclick = dialogs.keys;
$("save").onclick = (event) => {
  event.stopPropagation();
  $("forms").hidden = !$("forms").hidden;
};
document.addEventListener("click", () => ($("forms").hidden = true));
$("undo").onclick = actions.u;
$("resume").onclick = actions[" "];
$("hint").onclick = hint;
$("flip").onclick = actions.f;
$("resign").onclick = () => window.confirm("Resign this game?") && send("resign");
$("analyse").onchange = (event) => {
  send("analyse", { on: event.target.checked });
  if (event.target.checked && state.hidden) send("hide", { hidden: false });
};
$("analyst").onchange = () => panels.choosePlayer($("analyst"), state.analyst, (player) => send("analyst", { player }));
$("hide").onchange = (event) => send("hide", { hidden: event.target.checked });
$("solve").onchange = (event) => send("solve", { on: event.target.checked });
$("dice").onchange = (event) => send("dice", { asks: event.target.checked });
$("tree").onclick = () => dialogs.tree(table, state.at);
$("sweep").onclick = () => send("sweep");
$("mistake").onclick = nextMistake;
$("rings").onchange = drawFound;
$("viewer").onchange = (event) => {
  chosenViewer = Number(event.target.value);
  drawFound();
};
$("typed").onsubmit = async (event) => {
  event.preventDefault();
  const word = $("word").value.trim();
  if (!word || !state) return;
  if (await send("type", { node: state.at, word })) $("word").value = "";
};
$("dialog").addEventListener("cancel", () => {});
setInterval(() => state?.busy && drawStatus(), 500);
window.addEventListener("hashchange", enter);
enter();
