import { useEffect } from "react";
import { type AppDeps, AppProvider, useStore } from "./app-context.ts";
import { type HostState, type HostStore, pollMs } from "./host/host-store.ts";
import { UnreachableScreen, ConnectingScreen, SignInScreen } from "./shell/connection-screens.tsx";
import { Shell } from "./shell/shell.tsx";

/** Chooses the screen by the state of the host. */
export function App({ deps }: { deps: AppDeps }) {
  const { host } = deps;
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
        <AppProvider value={deps}>
          <Shell />
        </AppProvider>
      );
  }
}

/** Checks the host at intervals, and at once when the tab becomes visible. */
function useHostPolling(store: HostStore, state: HostState): void {
  useEffect(() => {
    if (state.kind === "loading") return;
    const checkIfVisible = (): void => {
      if (document.visibilityState === "visible") void store.check();
    };
    const isUnhealthy =
      state.kind === "signed-in" && (!state.answering || state.trouble !== undefined);
    const timer = setInterval(
      checkIfVisible,
      isUnhealthy ? pollMs.unreachable : pollMs[state.kind],
    );
    document.addEventListener("visibilitychange", checkIfVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", checkIfVisible);
    };
  }, [store, state]);
}
