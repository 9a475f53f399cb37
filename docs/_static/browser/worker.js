// Python with numpy and Likewise in a worker of the page. Every file comes from this site.
import { loadPyodide } from "./runtime/pyodide.mjs";
import loadHighs from "./runtime/highs.mjs";

const at = (name) => new URL(name, import.meta.url).href;

async function bytes(name) {
  const response = await fetch(at(name));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.arrayBuffer();
}

let printed = "";

async function start() {
  const [python, highs, numpy, library, surrogates] = await Promise.all([
    loadPyodide({ indexURL: at("runtime/") }),
    loadHighs({ locateFile: (name) => at(`runtime/${name}`) }),
    bytes("runtime/numpy.zip"), bytes("likewise.zip"), bytes("surrogates.py"),
  ]);
  // numpy asks for it where it would save a copy; told that there is none, it makes the copy.
  python._module.LDSO.loadedLibsByName.__main__.exports.backtrace = () => 0;
  for (const archive of [numpy, library]) python.unpackArchive(archive, "zip");
  python.FS.writeFile("surrogates.py", new Uint8Array(surrogates));
  const print = { batched: (line) => { printed += `${line}\n`; } };
  python.setStdout(print);
  python.setStderr(print);
  python.pyimport("surrogates").install(
    (text) => python.toPy(highs.solve(text, { output_flag: false, solver: "simplex" })),
  );
  return python;
}

const ready = start();
ready.then(() => postMessage({ ready: true }), (error) => postMessage({ broken: String(error) }));

onmessage = async ({ data }) => {
  const python = await ready;
  printed = "";
  try {
    python.runPython(data);
  } catch (error) {
    // What is above the reader's own lines is of no use to them.
    printed += String(error.message).replace(/^[^]*?(?=  File "<exec>")/, "");
  }
  const figures = python.pyimport("surrogates").drawn().toJs();
  postMessage({ printed, figures });
};
