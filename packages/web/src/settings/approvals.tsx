import type { ApprovalView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp } from "../app-context.ts";
import { words } from "../words.ts";

/** What waits for a person's word, over all conversations. It is answered where it was asked, with what led there in sight. */
export function Approvals() {
  const { client, router } = useApp();
  const [open, setOpen] = useState<readonly ApprovalView[] | null>(null);
  useEffect(() => {
    void client.listApprovals().then((result) => {
      if (result.ok) setOpen(result.value.approvals);
      return undefined;
    });
  }, [client]);
  if (open === null) return null;
  return (
    <section className="settings-part">
      <h3>{words.settings.openApprovals}</h3>
      {open.length === 0 && <p className="quiet">{words.settings.noApprovals}</p>}
      <ul className="facts-list">
        {open.map(({ approvalId, name, sessionId }) => (
          <li key={approvalId}>
            <strong>{name}</strong>
            <button
              type="button"
              className="button"
              onClick={() => router.go({ kind: "session", id: sessionId, at: null })}
            >
              {words.settings.openSession}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
