// What JupyterLab loads: a container of shared modules, as a bundler would write it, but there is nothing to bundle.
// Everything that it needs, JupyterLab has and shares.
(() => {
  const folder = new URL(".", document.currentScript.src);
  let shared = {};

  async function module(name) {
    const [one] = Object.values(shared[name] ?? {}); // JupyterLab has one version of each
    if (one === undefined) throw new Error(`this JupyterLab does not share ${name}`);
    return (await one.get())();
  }

  const container = {
    init(scope) {
      shared = scope;
    },
    async get() {
      const { datalog } = await import(new URL("datalog.js", folder));
      const { plugin } = await import(new URL("plugin.js", folder));
      const names = ["@jupyterlab/codemirror", "@jupyterlab/notebook", "@codemirror/language"];
      const found = { __esModule: true, default: plugin(datalog, ...(await Promise.all(names.map(module)))) };
      return () => found;
    },
  };
  (window._JUPYTERLAB ??= {}).emberlog = container;
})();
