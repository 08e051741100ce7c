// Requests to the server, and the events of a table.

export async function ask(path, given) {
  const options = given === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("the server does not answer");
  }
  const data = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(data.error || `the server answered ${answer.status}`);
  return data;
}

// One stream of events; it rests while the page is hidden, since a browser opens few connections to one server.
export class Events {
  constructor(handlers, lost) {
    this.handlers = handlers;
    this.lost = lost;
    this.source = null;
    this.table = null;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open(this.table, this.turned)));
    window.addEventListener("pagehide", () => this.close());
  }

  open(table, turned) {
    this.close();
    this.table = table;
    this.turned = turned;
    if (!table) return;
    const source = (this.source = new EventSource(`api/tables/${table}/events${turned ? "?turned" : ""}`));
    for (const [name, handle] of Object.entries(this.handlers)) source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    source.onopen = () => this.lost(false);
    source.onerror = () => this.lost(source.readyState === EventSource.CLOSED ? "closed" : "waiting");
  }

  close() {
    this.source?.close();
    this.source = null;
  }
}
