/* page -- controls, mouse, and the selection. */

const LOOSE = [104, 116, 130];
const MATCH = [80, 200, 120], PIECE = [240, 160, 60], FAKE = [255, 70, 70];
const event_ = readEvent();
const get = (id) => document.getElementById(id);
const state = {
  grouping: event_.groupings[0], byMatch: false, picked: -1, due: false,
};
const colours = new Uint8Array(4 * event_.count);

/* Half the length of a box round the hits in x and y, and in z. */
function reach() {
  let across = 1, along = 1;
  const p = event_.position;
  for (let i = 0; i < event_.count; i++) {
    across = Math.max(across, Math.hypot(p[3 * i], p[3 * i + 1]));
    along = Math.max(along, Math.abs(p[3 * i + 2]));
  }
  return [1.06 * across, 1.04 * along];
}

function makeViews() {
  const [r, z] = reach(), far = Math.max(r, z);
  return [
    new View("xy", event_, [[-r, -r], [r, r]]),
    new View("space", event_, [[-far, -0.6 * far],
      [far, 0.6 * far]]),
    new View("rz", event_, [[-z, -0.14 * r], [z, r]]),
  ];
}

/* All views, once before the next frame. */
function redraw() {
  if (state.due) return;
  state.due = true;
  requestAnimationFrame(() => {
    state.due = false;
    for (const view of views) view.draw(false);
  });
}

/* One view that follows the mouse, and all of it once the mouse rests. */
function follow(view) {
  if (!view.due) {
    view.due = true;
    requestAnimationFrame(() => {
      view.due = false;
      view.draw(true);
    });
  }
  clearTimeout(view.rest);
  view.rest = setTimeout(() => view.draw(false), 200);
}

/* The controls' condition on a group; a fake has neither pT nor eta. */
function filter() {
  const [shortest, softest, steepest] = ["shortest", "softest", "steepest"].map(
    (id) => Number(get(id).value));  /* 0 where empty */
  return (group) => {
    const groups = state.grouping, p = groups.particle ? groups.particle[group] : -1;
    if (groups.size(group) < shortest) return false;
    if (p < 0) return true;
    const { pt, eta } = event_.particles[p];
    return pt >= softest && Math.abs(eta) <= (steepest || Infinity);
  };
}

function verdictOf(groups, group) {
  if (groups.particle[group] < 0) return FAKE;
  return groups.isMatch[group] ? MATCH : PIECE;
}

/* Colours and lines from the controls and the pick. */
function refresh() {
  const groups = state.grouping, shown = filter();
  const chosen = new Set(state.picked < 0 ? [] : groups.hitsOf(state.picked));
  for (let i = 0; i < event_.count; i++) {
    const group = chosen.has(i) ? state.picked : groups ? groups.label[i] : -1;
    const inside = group >= 0 && shown(group);
    const dim = state.picked >= 0 && !chosen.has(i);
    const colour = !inside ? LOOSE
      : state.byMatch ? verdictOf(groups, group) : colourOf(group);
    const alpha = inside ? 235 : get("loose").checked ? 130 : 0;
    colours.set(colour, 4 * i);
    colours[4 * i + 3] = dim ? alpha >> 4 : alpha;
  }
  const wanted = groups && get("lines").checked;
  const lines = wanted ? groups.segments(shown) : new Uint32Array();
  const bright = state.picked < 0 ? lines.subarray(0, 0)
    : groups.segmentsOf(state.picked);
  for (const view of views) view.show(colours, lines, bright);
  describe();
  redraw();
}

const cell = (text, kind) => `<td${kind ? ` class="${kind}"` : ""}>${text}</td>`;

/* The number of a hit in the other grouping, for the table. */
function otherOf(row) {
  const other = event_.groupings.find((g) => g !== state.grouping);
  if (!other) return "";
  const label = other.label[row];
  return label < 0 ? "-" : String(label);
}

/* The selection and its hits. */
function describe() {
  const groups = state.grouping, body = document.querySelector("tbody");
  const head = document.querySelector("thead");
  body.textContent = head.textContent = "";
  if (state.picked < 0 || !groups) {
    get("chosen").textContent = "Click a hit to see what it belongs to.";
    return;
  }
  const rows = groups.hitsOf(state.picked), p = event_.position;
  const others = Array.from(rows, otherOf);
  const usual = others.slice().sort((a, b) =>
    others.filter((o) => o === b).length - others.filter((o) => o === a).length)[0];
  const name = groups.name === "track" ? "particle" : "track";
  get("chosen").textContent = title(groups, state.picked, rows.length);
  head.innerHTML = "<tr>" + ["hit", "x", "y", "z", "r", name]
    .map((t) => `<th>${t}</th>`).join("") + "</tr>";
  body.innerHTML = Array.from(rows, (i, k) => {
    const [x, y, z] = p.subarray(3 * i, 3 * i + 3);
    const coordinates = [x, y, z, Math.hypot(x, y)].map((v) => cell(v.toFixed(1)));
    return "<tr>" + cell(event_.hitId[i]) + coordinates.join("") +
      cell(others[k], others[k] === usual ? "" : "other") + "</tr>";
  }).join("");
}

function title(groups, group, count) {
  const isTrack = groups.name === "track";
  const name = isTrack ? `Track ${group}, track_id ${event_.trackId[group]}`
    : `Particle ${group}`;
  const text = `${name}: ${count} hits\n`;
  if (!groups.particle) return text;
  const p = groups.particle[group], one = event_.particles[p];
  if (p < 0) return `${text}fake: of no particle more than half of them`;
  const kind = groups.isMatch[group] ? "matches" : "piece of";
  return `${text}${isTrack ? `${kind} particle ${p}, ` : ""}id ${one.id}\n` +
    `pT ${one.pt.toFixed(3)} GeV, eta ${one.eta.toFixed(2)}, charge ${one.charge}`;
}

function pick(group) {
  state.picked = group;
  refresh();
}

/* Drag, wheel, click and double click of a view. */
function listen(view) {
  let start = null, moved = 0;
  view.section.addEventListener("pointerdown", (e) => {
    start = [e.clientX, e.clientY];
    moved = 0;
    view.section.setPointerCapture(e.pointerId);
  });
  view.section.addEventListener("pointermove", (e) => {
    if (!start) return;
    const step = [e.clientX - start[0], e.clientY - start[1]];
    moved += Math.abs(step[0]) + Math.abs(step[1]);
    start = [e.clientX, e.clientY];
    if (moved > 3) drag(view, step, e.shiftKey);
  });
  view.section.addEventListener("pointerup", (e) => {
    start = null;
    if (moved > 3 || !state.grouping) return;
    const box = view.section.getBoundingClientRect();
    const row = view.nearest(e.clientX - box.left, e.clientY - box.top, colours);
    pick(row < 0 ? -1 : state.grouping.label[row]);
  });
  view.section.addEventListener("wheel", (e) => {
    e.preventDefault();
    zoomAt(view, e, Math.exp(-e.deltaY / 500));
  }, { passive: false });
  view.section.addEventListener("dblclick", () => {
    view.reset();
    redraw();
  });
}

function drag(view, step, shift) {
  if (view.kind === "space" && !shift) {
    view.yaw += step[0] / 150;
    view.pitch = Math.max(-1.57, Math.min(1.57, view.pitch + step[1] / 150));
  } else {
    view.centre[0] -= step[0] / view.pixels[0];
    view.centre[1] += step[1] / view.pixels[1];
  }
  follow(view);
}

/* The point under the mouse stays where it is. */
function zoomAt(view, e, factor) {
  const box = view.section.getBoundingClientRect();
  const away = [e.clientX - box.left - view.width / 2,
    view.height / 2 - (e.clientY - box.top)];
  const before = view.pixels;
  view.zoom = Math.max(0.3, Math.min(5000, view.zoom * factor));
  view.pixels.forEach((after, k) => {
    view.centre[k] += away[k] / before[k] - away[k] / after;
  });
  follow(view);
}

/* #track=12 or #particle=3 in the address picks on loading. */
function followAddress() {
  const found = /^#(track|particle)=(\d+)$/.exec(location.hash);
  const grouping = found &&
    event_.groupings.find((g) => g.name === found[1]);
  if (!grouping || Number(found[2]) >= grouping.count) return;
  state.grouping = grouping;
  state.byMatch = false;
  get("colour").value = grouping.name;
  pick(Number(found[2]));
}

const views = makeViews();
for (const groups of event_.groupings)
  get("colour").add(new Option(groups.name, groups.name));
if (event_.groupings.length === 2)
  get("colour").add(new Option("track, by match", "match"));
for (const one of document.querySelectorAll(".truth"))
  one.hidden = event_.particles.length === 0;
get("counts").textContent = [`${event_.count} hits`].concat(
  event_.groupings.map((g) => `${g.count} ${g.name}s`)).join(", ");
get("colour").addEventListener("change", () => {
  const chosen = get("colour").value;
  state.byMatch = chosen === "match";
  state.grouping = event_.groupings.find(
    (g) => g.name === (state.byMatch ? "track" : chosen));
  pick(-1);
});
for (const id of ["lines", "loose", "shortest", "softest", "steepest"])
  get(id).addEventListener("input", refresh);
addEventListener("keydown", (e) => { if (e.key === "Escape") pick(-1); });
addEventListener("hashchange", followAddress);
new ResizeObserver(redraw).observe(document.querySelector("main"));
for (const view of views) listen(view);
refresh();
followAddress();
