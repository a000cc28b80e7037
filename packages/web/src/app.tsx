import { useEffect } from "react";
import { type AppParts, AppProvider, useStore } from "./app-context.ts";
import { type HostState, type HostStore, pauseMs } from "./host/state.ts";
import { Away, Reaching, SignIn } from "./shell/connection-screens.tsx";
import { Shell } from "./shell/shell.tsx";

/** What the host says of itself decides what there is to see. */
export function App({ parts }: { parts: AppParts }) {
  const { host } = parts;
  const state = useStore(host);
  useKeptUpToDate(host, state);
  switch (state.kind) {
    case "loading":
      return <Reaching />;
    case "unreachable":
      return <Away onRetry={host.check} />;
    case "signed-out":
      return <SignIn trouble={state.trouble} onToken={host.signInWithToken} />;
    case "signed-in":
      return (
        <AppProvider value={parts}>
          <Shell />
        </AppProvider>
      );
  }
}

/** Asks again after a while, and at once when the person comes back to the tab. */
function useKeptUpToDate(store: HostStore, state: HostState): void {
  useEffect(() => {
    if (state.kind === "loading") return;
    const look = (): void => {
      if (document.visibilityState === "visible") void store.check();
    };
    const unwell = state.kind === "signed-in" && (!state.answering || state.trouble !== undefined);
    const timer = setInterval(look, unwell ? pauseMs.unreachable : pauseMs[state.kind]);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [store, state]);
}
