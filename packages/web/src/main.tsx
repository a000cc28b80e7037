// oxlint-disable-next-line import/no-unassigned-import -- it must come first
import "./disable-zod-jit.ts";
import { createClient } from "@holdfast/client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { createHostClient } from "./host/host-store.ts";
import { createHostStore } from "./host/state.ts";
import { createPauses } from "./host/wakeable-sleep.ts";
import { takeSignInCode } from "./host/sign-in-link.ts";
import { openLine } from "./shared-stream/open-line.ts";
import { createModelsStore } from "./models/models-store.ts";
import { createRouter } from "./router/router.ts";
import { createListStore } from "./sessions/list-store.ts";
import { createSeenStore } from "./sessions/read-marks.ts";
import { createSelection } from "./sessions/bulk-actions.tsx";
import { createUnsentStore } from "./talk/store/unsent-messages.ts";
import { applyTheme, readTheme } from "./ui/theme.ts";
import { createToasts } from "./ui/toasts.tsx";

applyTheme(readTheme());

const pauses = createPauses();
const baseUrl = new URL(".", document.baseURI).href;
const client = createClient({ baseUrl, sleep: pauses.sleep, fetch: openLine(baseUrl) });
const host = createHostStore(createHostClient(document.baseURI, (...ask) => fetch(...ask)));

function begin(): void {
  const code = takeSignInCode(location, history);
  void (code === undefined ? host.check() : host.signInWithCode(code));
}

// A host that answers again is asked at once for what was missed.
host.subscribe(() => {
  const state = host.read();
  if (state.kind === "signed-in" && state.answering) pauses.wake();
});
addEventListener("online", pauses.wake);

begin();
// A link that is pasted into a tab of the page changes the fragment and loads nothing.
addEventListener("hashchange", begin);

const parts = {
  client,
  host,
  router: createRouter(),
  toasts: createToasts(),
  list: createListStore(client),
  seen: createSeenStore(Date.now()),
  selection: createSelection(),
  unsent: createUnsentStore(client),
  models: createModelsStore(client),
};

const place = document.getElementById("page");
if (place === null) throw new Error("index.html has no place for the page");
createRoot(place).render(
  <StrictMode>
    <App parts={parts} />
  </StrictMode>,
);
