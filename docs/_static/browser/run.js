// A button that makes the code of this page run, and be changed, in the reader's browser.
(() => {
  const here = document.currentScript.src;
  const heading = document.querySelector("article h1");
  const blocks = [...document.querySelectorAll("article div.highlight-Python")];
  if (!heading || !blocks.length || !location.protocol.startsWith("http")) return;

  const bar = document.createElement("p");
  bar.className = "run-here";
  const button = document.createElement("button");
  button.textContent = "Run and change it here";
  const state = document.createElement("span");
  state.setAttribute("role", "status");
  state.textContent = "Loads 20 MB once. Nothing leaves your browser.";
  bar.append(button, state);
  heading.after(bar);

  let worker;
  const next = () => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.broken ? reject(new Error(data.broken)) : resolve(data));
    worker.onerror = (event) => reject(new Error(event.message || "the worker did not start"));
  });

  async function run(cells) {
    for (const element of document.querySelectorAll(".run-here button, .run-one")) element.disabled = true;
    for (const [place, cell] of cells.entries()) {
      state.textContent = `Running ${place + 1} of ${cells.length} …`;
      cell.output.replaceChildren();
      const result = next();
      worker.postMessage(cell.code.textContent);
      const { printed, figures } = await result;
      const text = document.createElement("pre");
      text.tabIndex = 0;
      text.textContent = printed.trimEnd();
      if (text.textContent) cell.output.append(text);
      for (const figure of figures) cell.output.insertAdjacentHTML("beforeend", figure);
    }
    state.textContent = "Change the code, and run it again.";
    for (const element of document.querySelectorAll(".run-here button, .run-one")) element.disabled = false;
  }

  // Each block can be changed, and has its own button and output; what the build printed goes.
  function open() {
    for (const old of document.querySelectorAll(
      "article .sphx-glr-script-out, article .sphx-glr-single-img, article .sphx-glr-horizontal",
    )) old.remove();
    return blocks.map((block) => {
      const code = block.querySelector("pre");
      code.contentEditable = "plaintext-only";
      code.spellcheck = false;
      code.setAttribute("role", "textbox");
      code.setAttribute("aria-multiline", "true");
      code.setAttribute("aria-label", "Code");
      const output = document.createElement("div");
      output.className = "run-output";
      const one = document.createElement("button");
      one.className = "run-one";
      one.textContent = "Run";
      block.after(one, output);
      const cell = { code, output };
      one.onclick = () => run([cell]);
      return cell;
    });
  }

  button.onclick = async () => {
    button.disabled = true;
    state.textContent = "Loading Python …";
    worker = new Worker(new URL("worker.js", here), { type: "module" });
    try {
      await next();
      const cells = open();
      button.textContent = "Run all";
      button.onclick = () => run(cells);
      await run(cells);
    } catch (error) {
      state.textContent = `It did not start: ${error.message}`;
    }
  };
})();
