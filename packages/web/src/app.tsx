import { useEffect } from "react";
import { type AppDeps, AppProvider, useStore } from "./app-context.ts";
import { type HostState, type HostStore, pollMs } from "./host/host-store.ts";
import { UnreachableScreen, ConnectingScreen, SignInScreen } from "./shell/connection-screens.tsx";
import { Shell } from "./shell/shell.tsx";

/** What the host says of itself decides what there is to see. */
export function App({ parts }: { parts: AppDeps }) {
  const { host } = parts;
  const state = useStore(host);
  useHostPolling(host, state);
  switch (state.kind) {
    case "loading":
      return <ConnectingScreen />;
    case "unreachable":
      return <UnreachableScreen onRetry={host.check} />;
    case "signed-out":
      return <SignInScreen trouble={state.trouble} onToken={host.signInWithToken} />;
    case "signed-in":
      return (
        <AppProvider value={parts}>
          <Shell />
        </AppProvider>
      );
  }
}

/** Asks again after a while, and at once when the person comes back to the tab. */
function useHostPolling(store: HostStore, state: HostState): void {
  useEffect(() => {
    if (state.kind === "loading") return;
    const look = (): void => {
      if (document.visibilityState === "visible") void store.check();
    };
    const unwell = state.kind === "signed-in" && (!state.answering || state.trouble !== undefined);
    const timer = setInterval(look, unwell ? pollMs.unreachable : pollMs[state.kind]);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [store, state]);
}
