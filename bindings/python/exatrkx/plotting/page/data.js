/* data -- the event as arrays, and the groups that its hits belong to. */

/* The arrays of the page: base64 of little-endian values. */
function decode(text, Kind) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  return new Kind(bytes.buffer);
}

/* Colours that differ well from their neighbours: the golden angle. */
function colourOf(number) {
  const hue = (number * 137.508) % 360, light = 0.6 + 0.08 * (number % 3);
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    const shift = Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * (light - 0.85 * Math.min(light, 1 - light) * shift));
  };
  return [channel(0), channel(8), channel(4)];
}

/* Tracks, or particles: which group each hit is in and the hits of each. */
class Groups {
  constructor(name, label, members, offsets) {
    this.name = name;
    this.label = label;      /* [n_hits], of several the first, -1 = none */
    this.members = members;  /* rows, by group, in the order along it */
    this.offsets = offsets;  /* [n_groups + 1] */
  }

  get count() { return this.offsets.length - 1; }

  size(group) { return this.offsets[group + 1] - this.offsets[group]; }

  hitsOf(group) {
    return this.members.subarray(this.offsets[group], this.offsets[group + 1]);
  }

  /* Pairs of rows that a line joins, of the groups that shown says. */
  segments(shown) {
    const pairs = [];
    for (let g = 0; g < this.count; g++)
      if (shown(g)) this.join(g, pairs);
    return new Uint32Array(pairs);
  }

  segmentsOf(group) { return new Uint32Array(this.join(group, [])); }

  join(group, pairs) {
    for (let k = this.offsets[group] + 1; k < this.offsets[group + 1]; k++)
      pairs.push(this.members[k - 1], this.members[k]);
    return pairs;
  }
}

/* Groups from lists of hits, which may share some; along a group hits are
   further and further out. */
function groupsOf(name, lists, position) {
  const rows = decode(lists.hits, Uint32Array);
  const offsets = decode(lists.offsets, Uint32Array);
  const label = new Int32Array(position.length / 3).fill(-1);
  const out = new Float64Array(label.length);
  for (let i = 0; i < out.length; i++)
    out[i] = Math.hypot(position[3 * i], position[3 * i + 1],
      position[3 * i + 2]);
  for (let g = offsets.length - 2; g >= 0; g--) {
    const own = rows.subarray(offsets[g], offsets[g + 1]);
    own.sort((a, b) => out[a] - out[b]);
    for (const i of own) label[i] = g;
  }
  return new Groups(name, label, rows, offsets);
}

/* particle [n_groups]: the one with more than half of the hits, -1 = none, a
   fake; isMatch: the group has more than half of its hits, too. */
function compare(groups, particles) {
  groups.particle = new Int32Array(groups.count).fill(-1);
  groups.isMatch = new Uint8Array(groups.count);
  for (let g = 0; g < groups.count; g++) {
    const shared = new Map();
    for (const i of groups.hitsOf(g)) {
      const p = particles.label[i];
      if (p >= 0) shared.set(p, (shared.get(p) || 0) + 1);
    }
    for (const [p, n] of shared)
      if (2 * n > groups.size(g)) {
        groups.particle[g] = p;
        groups.isMatch[g] = 2 * n > particles.size(p) ? 1 : 0;
      }
  }
}

/* Everything the page shows. */
function readEvent() {
  const json = JSON.parse(document.getElementById("event").textContent);
  const event = {
    position: decode(json.position, Float32Array),
    hitId: json.hit_id,  /* text: numbers here hold 53 bits */
    trackId: json.track_id,
    particles: json.particles,
    groupings: [],
  };
  event.count = event.hitId.length;
  for (const name of ["track", "particle"])
    if (json[name] !== null)
      event.groupings.push(groupsOf(name, json[name], event.position));
  const particles = event.groupings.find((g) => g.name === "particle");
  if (particles)
    for (const groups of event.groupings) compare(groups, particles);
  return event;
}
