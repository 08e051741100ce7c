// Elements in one call: el("button", {onclick}, "text", child, …).

const NAMESPACE = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node[name] = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const el = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => filled(document.createElementNS(NAMESPACE, name), attributes, children);

// Markup of drawings that the server made; names of moves and players never come this way.
export function drawn(markup) {
  const whole = new DOMParser().parseFromString(`<svg xmlns="${NAMESPACE}">${markup}</svg>`, "image/svg+xml").documentElement;
  return [...whole.childNodes].map((node) => document.importNode(node, true));
}
