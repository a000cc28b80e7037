// oxlint-disable-next-line import/no-unassigned-import -- it must come first
import "./disable-zod-jit.ts";
import { createClient } from "@holdfast/client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { createHostClient, createHostStore, consumeSignInCode } from "./host/host-store.ts";
import { pageKey, setLinkKey, withPageKey } from "./host/page-key.ts";
import { createSharedRead } from "./host/shared-read.ts";
import { createWakeableSleep } from "./host/wakeable-sleep.ts";
import { openSharedStreams } from "./shared-stream/shared-streams.ts";
import { createModelsStore } from "./models/models-store.ts";
import { createRouter } from "./router/router.ts";
import { createSessionListStore } from "./sessions/session-list-store.ts";
import { createReadMarks } from "./sessions/read-marks.ts";
import { createOpenApprovals } from "./settings/open-approvals.ts";
import { createSelection } from "./sessions/bulk-actions.tsx";
import { createOpenCommands } from "./shell/commands.ts";
import { preloadRoute } from "./shell/parts.ts";
import { refuseDroppedFiles } from "./talk/composer/dropped-files.ts";
import { createUnsentStore } from "./talk/store/unsent-messages.ts";
import { preferences } from "./ui/preferences.ts";
import { registerServiceWorker } from "./attention/register-service-worker.ts";
import { applyTheme, readTheme } from "./ui/theme.ts";
import { createToasts } from "./ui/toasts.tsx";

applyTheme(readTheme());
preferences.apply();
refuseDroppedFiles();

const retrySleep = createWakeableSleep();
const baseUrl = new URL(".", document.baseURI).href;
const send = withPageKey((url, init) => fetch(url, init));
const openStream = openSharedStreams(baseUrl, send);
const client = createClient({ baseUrl, fetch: send, sleep: retrySleep.sleep, openStream });
const host = createHostStore(createHostClient(document.baseURI, { send, pageKey, setLinkKey }));

function signInOrCheck(): void {
  const code = consumeSignInCode(location, history);
  void (code === undefined ? host.check() : host.signInWithCode(code));
}

// When the host answers again, retry at once instead of waiting for the backoff.
host.subscribe(() => {
  const state = host.read();
  if (state.kind === "signed-in" && state.answering) retrySleep.wake();
});
addEventListener("online", retrySleep.wake);

signInOrCheck();
// Pasting a sign-in link into an open tab changes only the fragment and loads nothing.
addEventListener("hashchange", signInOrCheck);

const list = createSessionListStore(client);
const deps = {
  client,
  host,
  router: createRouter(),
  toasts: createToasts(),
  list,
  readMarks: createReadMarks(Date.now()),
  selection: createSelection(),
  unsent: createUnsentStore(client),
  models: createModelsStore(client),
  openCommands: createOpenCommands(),
  openApprovals: createOpenApprovals(client, list),
  projects: createSharedRead(() => client.listProjects()),
};

preloadRoute(deps.router.read());

const container = document.getElementById("page");
if (container === null) throw new Error("index.html has no element with the id page");
createRoot(container).render(
  <StrictMode>
    <App deps={deps} />
  </StrictMode>,
);

// After everything else: it fetches the page once more.
addEventListener("load", registerServiceWorker);
