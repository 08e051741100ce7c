// New game, open a file, runs, keys.

import { ask } from "./api.js";
import { $, el, svg } from "./dom.js";
import { choosePlayer } from "./panels.js";

const show = (...children) => {
  const dialog = $("dialog");
  dialog.replaceChildren(...children);
  if (!dialog.open) dialog.showModal();
  return dialog;
};

const row = (label, ...inputs) => el("p", {}, el("label", {}, label), ...inputs);

async function begin(given, opened) {
  const wrong = $("dialog").querySelector(".wrong");
  const busy = [...$("dialog").querySelectorAll("button")];
  if (wrong) wrong.textContent = "";
  for (const button of busy) button.disabled = true;
  const slow = setTimeout(() => wrong && (wrong.textContent = "the game is being compiled: seconds, the first time …"), 700);
  try {
    const answer = await ask("api/tables", given);
    $("dialog").close();
    opened(answer, given);
  } catch (error) {
    if (wrong) wrong.textContent = error.message;
  } finally {
    clearTimeout(slow);
    for (const button of busy) button.disabled = false;
  }
}

function gameField(games, initial) {
  const select = el("select", { "aria-label": "game" });
  for (const game of games) select.append(el("option", { value: game.text, selected: game.text === initial }, game.text));
  const about = el("span", { class: "small" });
  const options = el("span", { style: "display:contents" });
  const fill = () => {
    const game = games.find((each) => each.text === select.value);
    about.textContent = game.about;
    options.replaceChildren(...Object.entries(game.options).map(([name, words]) => row(name, el("input", { "data-option": name, placeholder: words }))));
  };
  const text = () => {
    const given = [...options.querySelectorAll("input")].filter((input) => input.value.trim()).map((input) => `${input.dataset.option}=${input.value.trim()}`);
    return given.length ? `${select.value}:${given.join(",")}` : select.value;
  };
  fill();
  return { select, about, options, fill, text };
}

export async function newGame(initial, opened) {
  const { games } = await ask("api/games");
  const own = games.find((each) => each.about === "from the command line");
  const field = gameField(games, initial ?? own?.text ?? "connect_four");
  const places = el("div");
  const position = el("input", { placeholder: "in the game's own notation; empty: the usual start", "aria-label": "position" });
  const wrong = el("p", { class: "wrong" });
  const analyse = el("button", { onclick: () => start(true) }, "Analyse"), play = el("button", { class: "first", onclick: () => start(false) }, "Play");
  let chosen = null, asked = 0;
  const fill = async () => {
    const mine = ++asked;
    analyse.disabled = play.disabled = true; // until the players that can be chosen are shown
    wrong.textContent = "";
    places.replaceChildren();
    chosen = null;
    try {
      const answer = await ask(`api/players?game=${encodeURIComponent(field.text())}`);
      if (mine !== asked) return; // another game was chosen since
      const { players } = answer;
      chosen = Array.from({ length: answer.seats }, (_, seat) => (seat === 0 ? "human" : players[Math.min(2, players.length - 1)].text));
      places.replaceChildren(
        ...chosen.map((text, seat) => {
          const select = el("select", { "aria-label": `player ${seat}` }, ...players.map((each) => el("option", { value: each.text, selected: each.text === text }, each.text === "human" ? "a person" : `${each.text} — ${each.about}`)), el("option", { value: "…" }, "another player …"));
          select.onchange = () =>
            choosePlayer(select, chosen[seat], (player) => {
              chosen[seat] = player;
              if (select.value === "…") {
                select.prepend(el("option", { value: player }, player));
                select.value = player;
              }
            });
          return row(seat === 0 ? "moves first" : `player ${seat}`, select);
        })
      );
    } catch (error) {
      if (mine === asked) wrong.textContent = error.message;
    } finally {
      if (mine === asked) analyse.disabled = play.disabled = false;
    }
  };
  field.select.onchange = () => {
    field.fill();
    fill();
  };
  field.options.addEventListener("change", fill);
  const start = (analysed) => {
    const given = { game: field.text(), analyse: analysed };
    if (!analysed && chosen) given.seats = chosen;
    if (position.value.trim()) given.position = position.value.trim();
    begin(given, opened);
  };
  show(
    el("h3", {}, "New game"),
    row("game", field.select), el("p", {}, el("label"), field.about), field.options, places, row("position", position), wrong,
    el("p", { class: "actions" }, el("button", { onclick: () => $("dialog").close() }, "Cancel"), analyse, play)
  );
  await fill();
}

export async function openFile(initial, opened) {
  const { games } = await ask("api/games");
  const field = gameField(games, initial ?? "chess");
  field.select.onchange = field.fill;
  const file = el("input", { type: "file", accept: ".pgn,.sgf,.log,.txt", "aria-label": "file" });
  const number = el("input", { type: "number", min: 1, value: 1, "aria-label": "number of the game" });
  const wrong = el("p", { class: "wrong" });
  const start = async () => {
    if (!file.files.length) return void (wrong.textContent = "choose a file");
    const content = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
      reader.readAsDataURL(file.files[0]);
    });
    begin({ game: field.text(), file: { name: file.files[0].name, content, number: Number(number.value) - 1 } }, opened);
  };
  show(
    el("h3", {}, "Open a game"),
    el("p", { class: "small" }, "PGN is chess, SGF is go, of the size and komi that it names; records (.log) and lists of moves (.txt) are of the game chosen here. The file stays on this machine."),
    row("game", field.select), field.options, row("file", file), row("game number", number), wrong,
    el("p", { class: "actions" }, el("button", { onclick: () => $("dialog").close() }, "Cancel"), el("button", { class: "first", onclick: start }, "Open"))
  );
}

function eloCurve(checkpoints) {
  const rated = checkpoints.filter((each) => each.elo);
  if (rated.length < 2) return null;
  const games = rated.map((each) => each.games), least = Math.min(...rated.map((each) => each.elo[1])), most = Math.max(...rated.map((each) => each.elo[2]));
  const x = (value) => 4 + (252 * (value - games[0])) / (games.at(-1) - games[0] || 1), y = (value) => 56 - (50 * (value - least)) / (most - least || 1);
  const line = rated.map((each) => `${x(each.games)},${y(each.elo[0])}`).join("L");
  const band = [...rated.map((each) => `${x(each.games)},${y(each.elo[2])}`), ...rated.toReversed().map((each) => `${x(each.games)},${y(each.elo[1])}`)].join("L");
  const words = `Elo ${Math.round(rated[0].elo[0])} to ${Math.round(rated.at(-1).elo[0])}`;
  return el("div", {}, svg("svg", { viewBox: "0 0 260 60", width: 260, height: 60, role: "img", "aria-label": words }, svg("path", { d: `M${band}z`, fill: "var(--point)", opacity: 0.18 }), svg("path", { d: `M${line}`, fill: "none", stroke: "var(--point)", "stroke-width": 2 })), el("span", { class: "small" }, ` ${words}`));
}

export async function runs(opened) {
  const { runs: found } = await ask("api/games");
  const wrong = el("p", { class: "wrong" });
  const items = found.map((run) => {
    const select = el("select", { "aria-label": "checkpoint" }, ...run.checkpoints.toReversed().map((each) => el("option", { value: each.step }, `after ${each.games.toLocaleString("en")} games${each.elo ? `, Elo ${Math.round(each.elo[0])}` : each.strength ? `, ${each.strength}` : ""}`)));
    const number = el("input", { type: "number", min: 0, value: 0, style: "flex:0 0 6rem", "aria-label": "number of the game" });
    const play = async () => {
      const { seats } = await ask(`api/players?game=${encodeURIComponent(run.game)}`).catch(() => ({ seats: 2 }));
      const rival = `net:${run.name}@${select.value},sims=200`;
      begin({ game: run.game, seats: ["human", ...Array(seats - 1).fill(rival)] }, opened);
    };
    return el("li", {}, el("b", {}, run.name), ` ${run.game}`, eloCurve(run.checkpoints),
      el("p", {}, select, el("button", { class: "first", onclick: play }, "Play against it")),
      run.has_games ? el("p", {}, el("span", { class: "small" }, "self-play game"), number, el("button", { onclick: () => begin({ game: run.game, run: { name: run.name, number: Number(number.value) } }, opened) }, "Open it")) : null);
  });
  show(el("h3", {}, "Runs"), found.length ? el("ul", {}, ...items) : el("p", { class: "small" }, "No runs with checkpoints in this folder: python -m train GAME makes one."), wrong,
    el("p", { class: "actions" }, el("button", { onclick: () => $("dialog").close() }, "Close")));
}

export async function tree(table, node) {
  const wait = el("p", { class: "small" }, "searching …");
  const place = el("div", { style: "overflow:auto;max-height:62vh;background:#fff;color:#22272e" });
  show(el("h3", {}, "A searched tree"), wait, place, el("p", { class: "actions" }, el("button", { onclick: () => $("dialog").close() }, "Close"))).classList.add("wide");
  $("dialog").addEventListener("close", () => $("dialog").classList.remove("wide"), { once: true });
  try {
    const { svg: text } = await ask(`api/tables/${table}/tree`, { node });
    const picture = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    wait.textContent = "Three levels below the position, the four best moves of each.";
    place.replaceChildren(document.importNode(picture, true));
  } catch (error) {
    wait.className = "wrong";
    wait.textContent = error.message;
  }
}

export function keys() {
  const list = [["← →", "one move back, on"], ["Home End", "first, last position"], ["space", "players go on, or wait"], ["U", "take back"], ["H", "hint"], ["F", "the board from the other side"], ["A", "analysis on, off"], ["M", "next mistake"], ["N", "new game"], ["/", "type a move"], ["Esc", "put a piece back"]];
  show(el("h3", {}, "Keys"), el("table", {}, el("tbody", {}, ...list.map(([key, words]) => el("tr", {}, el("td", {}, ...key.split(" ").flatMap((each) => [el("kbd", {}, each), " "])), el("td", { class: "pv" }, words))))),
    el("p", { class: "small" }, "Moves: click the board, or drag; or type their names. Hovering over a candidate shows its line on the board."),
    el("p", { class: "actions" }, el("button", { onclick: () => $("dialog").close() }, "Close")));
}
