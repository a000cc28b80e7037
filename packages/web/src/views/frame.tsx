import type { ReactNode } from "react";
import { Mark } from "./mark.tsx";

interface FrameProps {
  readonly status?: { readonly answering: boolean; readonly version: string };
  readonly onSignOut?: () => Promise<void>;
  readonly children: ReactNode;
}

/** The bar, the middle and the status line. Until somebody has signed in there is no bar. */
export function Frame({ status, onSignOut, children }: FrameProps) {
  return (
    <div className="page">
      {onSignOut === undefined ? (
        <span />
      ) : (
        <header className="bar">
          <span className="brand">
            <Mark />
            Holdfast
          </span>
          <button type="button" className="button plain" onClick={() => void onSignOut()}>
            Sign out
          </button>
        </header>
      )}
      <main className="middle">{children}</main>
      {status === undefined ? <span /> : <Status {...status} />}
    </div>
  );
}

function Status({ answering, version }: { answering: boolean; version: string }) {
  return (
    <footer className="status">
      <span className={answering ? "dot" : "dot trouble waiting"} aria-hidden="true" />
      <output>{answering ? "The host is well" : "The host does not answer. Trying again"}</output>
      <span className="version">Holdfast {version}</span>
    </footer>
  );
}
