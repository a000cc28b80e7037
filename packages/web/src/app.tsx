import { useEffect, useSyncExternalStore } from "react";
import { type HostState, type HostStore, pauseMs } from "./host/index.ts";
import type { Client } from "@holdfast/protocol";
import { Talk } from "./talk/index.ts";
import { Frame, Loading, SignIn, Unreachable } from "./views/index.ts";

export function App({ store, client }: { store: HostStore; client: Client }) {
  const state = useSyncExternalStore(store.subscribe, store.read);
  useKeptUpToDate(store, state);

  switch (state.kind) {
    case "loading":
      return (
        <Frame>
          <Loading />
        </Frame>
      );
    case "unreachable":
      return (
        <Frame>
          <Unreachable onRetry={store.check} />
        </Frame>
      );
    case "signed-out":
      return (
        <Frame status={{ answering: true, version: state.version }}>
          <SignIn trouble={state.trouble} onToken={store.signInWithToken} />
        </Frame>
      );
    case "signed-in":
      return (
        <Frame status={state} onSignOut={store.signOut}>
          <Talk client={client} />
        </Frame>
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
    const silent = state.kind === "signed-in" && !state.answering;
    const timer = setInterval(look, silent ? pauseMs.unreachable : pauseMs[state.kind]);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [store, state]);
}
