interface ScriptUrlPolicy {
  createScriptURL(text: string): string;
}
interface PolicyFactory {
  createPolicy(name: string, rules: ScriptUrlPolicy): ScriptUrlPolicy;
}

const { trustedTypes } = globalThis as { readonly trustedTypes?: PolicyFactory };

/** Registers the worker that opens the page without a connection. Browsers allow one on HTTPS and on loopback only. */
export function registerServiceWorker(): void {
  // The types do not list it as optional, but plain HTTP has none.
  const { serviceWorker } = navigator as { readonly serviceWorker?: ServiceWorkerContainer };
  if (serviceWorker === undefined) return;
  const url = new URL("service-worker.js", document.baseURI).href;
  const policy = trustedTypes?.createPolicy("holdfast-worker", {
    createScriptURL: (text) => {
      if (text !== url) throw new Error("Only the service worker may be loaded.");
      return text;
    },
  });
  // Without it the page works as before, but needs a connection to open.
  serviceWorker.register(policy?.createScriptURL(url) ?? url).catch(() => undefined);
}
