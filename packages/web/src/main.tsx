import { createClient } from "@holdfast/protocol";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { App } from "./app.tsx";
import { createHostClient, createHostStore, takeSignInCode } from "./host/index.ts";

// The page's policy allows no code from text, and zod need not try.
z.config({ jitless: true });

const client = createClient({ baseUrl: new URL(".", document.baseURI).href });
const store = createHostStore(createHostClient(document.baseURI, (...ask) => fetch(...ask)));

function begin(): void {
  const code = takeSignInCode(location, history);
  void (code === undefined ? store.check() : store.signInWithCode(code));
}

begin();
// A link that is pasted into a tab of the page changes the fragment and loads nothing.
addEventListener("hashchange", begin);

const place = document.getElementById("page");
if (place === null) throw new Error("index.html has no place for the page");
createRoot(place).render(
  <StrictMode>
    <App store={store} client={client} />
  </StrictMode>,
);
