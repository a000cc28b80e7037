import { useState } from "react";
import { Mark } from "./mark.tsx";

export function Unreachable({ onRetry }: { onRetry: () => Promise<void> }) {
  const [asking, setAsking] = useState(false);

  async function retry(): Promise<void> {
    setAsking(true);
    await onRetry();
    setAsking(false);
  }

  return (
    <div className="column" role="alert">
      <Mark />
      <h1>The host does not answer</h1>
      <p className="lead">
        Nothing is lost: what was accepted is kept. Start Holdfast again, and this page comes back
        by itself.
      </p>
      <div className="row">
        <button type="button" className="button" disabled={asking} onClick={() => void retry()}>
          Try now
        </button>
      </div>
    </div>
  );
}
