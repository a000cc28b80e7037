import type { ApiError, Client } from "@holdfast/client";
import type { ProblemCode, RouteOutput, Routes } from "@holdfast/protocol";
import { createContext, use, useSyncExternalStore } from "react";
import type { HostStore } from "./host/host-store.ts";
import type { SharedRead } from "./host/shared-read.ts";
import type { ModelsStore } from "./models/models-store.ts";
import type { Router } from "./router/router.ts";
import type { SessionListStore } from "./sessions/session-list-store.ts";
import type { ReadMarks } from "./sessions/read-marks.ts";
import type { OpenApprovals } from "./settings/open-approvals.ts";
import type { OpenCommands } from "./shell/commands.ts";
import type { Selection } from "./sessions/bulk-actions.tsx";
import type { UnsentStore } from "./talk/store/unsent-messages.ts";
import type { Toasts } from "./ui/toasts.tsx";
import { strings } from "./strings/strings.ts";

/** Dependencies of every component, created once in `main.tsx`. */
export interface AppDeps {
  readonly client: Client;
  readonly host: HostStore;
  readonly router: Router;
  readonly toasts: Toasts;
  readonly list: SessionListStore;
  readonly readMarks: ReadMarks;
  readonly selection: Selection;
  readonly unsent: UnsentStore;
  readonly models: ModelsStore;
  readonly openCommands: OpenCommands;
  readonly openApprovals: SharedRead<OpenApprovals>;
  readonly projects: SharedRead<RouteOutput<Routes["listProjects"]>>;
}

const context = createContext<AppDeps | null>(null);
export const AppProvider = context.Provider;

export function useApp(): AppDeps {
  const deps = use(context);
  if (deps === null) throw new Error("useApp needs an AppProvider above it.");
  return deps;
}

interface ReadableStore<T> {
  readonly read: () => T;
  readonly subscribe: (listener: () => void) => () => void;
}

export function useStore<T>(store: ReadableStore<T>): T {
  return useSyncExternalStore(store.subscribe, store.read);
}

/** Problems whose next step is up to a person, so the page shows it. */
const operatorProblems: ReadonlySet<string> = new Set<ProblemCode>([
  "backup_failed",
  "backup_unsupported",
  "bot_configured",
  "bot_elsewhere",
  "bot_refused",
  "bot_unreachable",
  "import_running",
  "import_source_missing",
  "import_upload_gap",
  "import_upload_too_large",
  "key_rejected",
  "pairing_not_found",
  "store_full",
  "store_unwritable",
]);

/** Why a request failed, in the host's own words where it gave some, and what to do about it. */
export function problemText(error: ApiError): string {
  switch (error.kind) {
    case "problem": {
      const { code, title, detail, next, errors } = error.problem;
      if (operatorProblems.has(code) && next !== undefined) return `${title} ${next}`;
      if (errors !== undefined && errors.length > 0)
        return strings.problems.fields(errors.map(({ path, message }) => `${path}: ${message}`));
      return detail ?? title;
    }
    case "network":
    case "unexpected":
      return strings.problems[error.code];
    case "aborted":
      return "";
  }
}
