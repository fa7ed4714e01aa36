"use strict";
// The token is the fragment of the address: it is sent in a header, never in an address.
// What a model wrote arrives as text or as HTML that the server has escaped; the page's
// Content-Security-Policy runs nothing but this file.
const at = (id) => document.getElementById(id);
const token = location.hash.slice(1);

const send = async (path, body) => {
  const post = { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(`api/${path}`, {
    ...(body === undefined ? {} : post),
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
  });
  if (!answer.ok) throw Error((await answer.json()).error);
  return answer;
};

const problem = (text) => {
  at("problem").textContent = text;
  at("problem").hidden = !text;
};

const attempt = async (work) => {
  problem("");
  try {
    await work();
  } catch (error) {
    problem(error.message);
  }
};

const begin = (question) => {
  const made = at("turn").content.cloneNode(true).firstChild;
  made.querySelector(".question").textContent = question;
  at("turns").append(made);
  return made;
};

const finish = (made, answer) => {
  made.dataset.kind = answer.kind;
  made.querySelector(".answer").innerHTML = answer.html;
  for (const image of made.querySelectorAll("img[data-structure]")) turnable(image);
  for (const file of answer.files) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Save ${file.name}`;
    button.onclick = () => attempt(() => save(answer.turn, file.name));
    made.querySelector(".files").append(button);
  }
};

const save = async (turn, name) => {
  const path = name.split("/").map(encodeURIComponent).join("/");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await send(`files/${turn}/${path}`)).blob());
  link.download = name.split("/").pop();
  link.click();
  URL.revokeObjectURL(link.href);
};

const change = (what, body) => attempt(async () => {
  await send(what, body);
  await show();
});

const list = (inputs) => {
  at("inputs").replaceChildren(...inputs.map((name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `${name} \u00d7`;
    button.title = `take ${name} away`;
    button.onclick = () => change("drop", { name });
    return button;
  }));
};

const show = async () => {
  const history = await (await send("history")).json();
  at("model").textContent = history.model;
  list(history.inputs);
  const titles = history.sessions.map(([name, title]) => new Option(title.slice(0, 80), name));
  const there = history.sessions.some(([name]) => name === history.session);
  at("sessions").replaceChildren(...(there ? [] : [new Option("this conversation", history.session)]), ...titles);
  at("sessions").value = history.session;
  at("turns").replaceChildren();
  for (const turn of history.turns) finish(begin(turn.question), turn);
  if (history.working !== null) attempt(() => follow(history.working, () => send("events")));
};

const encoded = (file) => new Promise((done, fail) => {
  const reader = new FileReader();
  reader.onerror = () => fail(reader.error);
  reader.onload = () => done({ name: file.name, data: reader.result.split(",")[1] ?? "" });
  reader.readAsDataURL(file);
});

const events = async function* (answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [kind, data] = part.split("\n");
      yield [kind.slice("event: ".length), JSON.parse(data.slice("data: ".length))];
    }
  }
};

const busy = (working) => {
  for (const name of ["ask", "undo", "new", "sessions"]) at(name).disabled = working;
  at("stop").hidden = !working;
};

const ask = async () => {
  const question = at("question").value.trim();
  if (!question || at("ask").disabled) return;
  busy(true);
  await follow(question, async () => {
    const files = await Promise.all([...at("files").files].map(encoded));
    return send("ask", { question, files });
  });
  at("question").value = at("files").value = at("chosen").textContent = "";
};

const follow = async (question, asking) => {
  busy(true);
  const made = begin(question);
  made.querySelector(".did").open = true;
  const [steps, working] = [made.querySelector(".steps"), made.querySelector(".working")];
  const started = Date.now();
  let doing = "beginning", ended = false;
  const tick = () => {
    working.hidden = false;
    working.textContent = `${doing} ... ${Math.round((Date.now() - started) / 1000)} s`;
  };
  tick();
  const clock = setInterval(tick, 1000);
  made.scrollIntoView();
  try {
    for await (const [kind, data] of events(await asking())) {
      if (kind === "error") throw Error(data.error);
      if (kind === "answer") {
        finish(made, data);
        made.querySelector(".did").open = false;
        list(data.inputs);
        ended = true;
        made.querySelector(".question").scrollIntoView();
      } else if (data.done) {
        const step = document.createElement("li");
        step.textContent = `${data.text} (${data.seconds} s)`;
        steps.append(step);
      } else {
        doing = data.text;
        tick();
      }
    }
    if (!ended) throw Error("the server ended before the answer");
  } catch (error) {
    if (!ended) made.remove();
    throw error;
  } finally {
    clearInterval(clock);
    working.hidden = true;
    busy(false);
  }
};

at("form").onsubmit = (event) => {
  event.preventDefault();
  attempt(ask);
};
at("question").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    attempt(ask);
  }
};
at("files").onchange = () => {
  at("chosen").textContent = [...at("files").files].map((file) => file.name).join(", ");
};
at("stop").onclick = () => attempt(() => send("cancel", {}));
at("undo").onclick = () => change("undo", {});
at("new").onclick = () => change("open", { name: "" });
at("sessions").onchange = () => change("open", { name: at("sessions").value });
attempt(show);
