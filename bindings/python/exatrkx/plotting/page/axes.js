/* axes -- scales of the flat views, the three directions of the turned one. */

/* 1, 2 or 5 times a power of ten, so that ticks are about 90 pixels apart. */
function tickStep(pixels) {
  const wanted = 90 / pixels, power = 10 ** Math.floor(Math.log10(wanted));
  for (const factor of [1, 2, 5]) if (factor * power >= wanted) return factor * power;
  return 10 * power;
}

function drawAxes(view, ratio) {
  const paper = view.axes.getContext("2d");
  paper.setTransform(ratio, 0, 0, ratio, 0, 0);
  paper.clearRect(0, 0, view.width, view.height);
  paper.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  paper.lineWidth = 1;
  if (view.kind === "space") drawDirections(paper, view);
  else {
    drawScale(paper, view, 0);
    drawScale(paper, view, 1);
  }
}

/* Ticks and labels along the lower edge (axis 0) or the left one (axis 1). */
function drawScale(paper, view, axis) {
  const pixels = view.pixels[axis], step = tickStep(pixels);
  const half = (axis ? view.height : view.width) / 2 / pixels;
  const first = Math.ceil((view.centre[axis] - half) / step);
  const last = Math.floor((view.centre[axis] + half) / step);
  paper.textAlign = axis ? "left" : "center";
  paper.textBaseline = axis ? "middle" : "bottom";
  for (let k = first; k <= last; k++) {
    const at = view.pixel(k * step, k * step)[axis];
    const label = String(Number((k * step).toPrecision(12)));
    const edge = axis ? at < 30 || at > view.height - 26
      : at < 44 || at > view.width - 60;
    paper.strokeStyle = k === 0 ? "#3a4553" : "#1c232c";
    paper.beginPath();
    if (axis) paper.moveTo(0, at), paper.lineTo(view.width, at);
    else paper.moveTo(at, 0), paper.lineTo(at, view.height);
    paper.globalAlpha = 0.55;
    paper.stroke();
    paper.globalAlpha = 1;
    paper.fillStyle = "#93a0b0";
    if (edge) continue;
    if (axis) paper.fillText(label, 5, at);
    else paper.fillText(label, at, view.height - 4);
  }
  const name = (view.kind === "xy" ? ["x", "y"] : ["z", "r"])[axis] + " [mm]";
  paper.fillStyle = "#d5dbe3";
  paper.textAlign = axis ? "left" : "right";
  if (axis) paper.fillText(name, 44, 15);
  else paper.fillText(name, view.width - 6, view.height - 4);
}

/* Where x, y and z point, in the lower left corner. */
function drawDirections(paper, view) {
  const start = [46, view.height - 46];
  paper.textAlign = "center";
  paper.textBaseline = "middle";
  const [right, up] = view.rotation;
  [["x", "#ff7b72"], ["y", "#7ee787"], ["z", "#79c0ff"]].forEach(
    ([name, colour], k) => {
    const [a, b] = [right[k], up[k]];
    paper.strokeStyle = paper.fillStyle = colour;
    paper.beginPath();
    paper.moveTo(...start);
    paper.lineTo(start[0] + 28 * a, start[1] - 28 * b);
    paper.stroke();
    paper.fillText(name, start[0] + 37 * a, start[1] - 37 * b);
  });
}
