import type { ApprovalView } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { momentOf } from "../ui/format-time.ts";
import { revealUnseen } from "../ui/markdown/safe-text.ts";
import { words } from "../strings/strings.ts";
import { Audit } from "./audit.tsx";
import { SessionLink } from "../sessions/session-link.tsx";
import { Part } from "./part.tsx";
import { Rules } from "./rules.tsx";
import { useEvery, useRead } from "./settings-group.tsx";

export function Approvals() {
  return (
    <>
      <OpenApprovals />
      <Rules />
      <Audit />
    </>
  );
}

/** What waits for a person's word, over all conversations. It is answered where it was asked, with what led there in sight. */
function OpenApprovals() {
  const { client } = useApp();
  const [read, again] = useRead(() => client.listApprovals());
  useEvery(5_000, again);
  const w = words.settings;
  return (
    <Part title={w.openApprovals} read={read}>
      {({ approvals }) =>
        approvals.length === 0 ? (
          <p className="quiet">{w.noApprovals}</p>
        ) : (
          <ul className="facts-list">
            {approvals.map((approval) => (
              <Open key={approval.approvalId} approval={approval} />
            ))}
          </ul>
        )
      }
    </Part>
  );
}

function Open({ approval: { name, kind, shown, askedAt, sessionId } }: { approval: ApprovalView }) {
  return (
    <li>
      <span className="fact-text">
        <strong>{kind === "question" ? words.question.title : name}</strong>
        {shown !== undefined && <code dir="ltr">{revealUnseen(shown)}</code>}
        <span className="quiet">{momentOf(askedAt)}</span>
      </span>
      <SessionLink id={sessionId} />
    </li>
  );
}
