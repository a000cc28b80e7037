import type { ApprovalView } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { Audit } from "./audit.tsx";
import { SessionLink } from "../sessions/session-link.tsx";
import { SettingsGroup } from "./part.tsx";
import { RuleList } from "./rules.tsx";
import { useInterval, useHostQuery } from "./settings-group.tsx";

export function Approvals() {
  return (
    <>
      <OpenApprovals />
      <RuleList />
      <Audit />
    </>
  );
}

/** What waits for a person's word, over all conversations. It is answered where it was asked, with what led there in sight. */
function OpenApprovals() {
  const { client } = useApp();
  const [read, again] = useHostQuery(() => client.listApprovals());
  useInterval(5_000, again);
  const w = strings.settings;
  return (
    <SettingsGroup title={w.openApprovals} read={read}>
      {({ approvals }) =>
        approvals.length === 0 ? (
          <p className="quiet">{w.noApprovals}</p>
        ) : (
          <ul className="facts-list">
            {approvals.map((approval) => (
              <OpenApproval key={approval.approvalId} approval={approval} />
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}

function OpenApproval({
  approval: { name, kind, shown, askedAt, sessionId },
}: {
  approval: ApprovalView;
}) {
  return (
    <li>
      <span className="fact-text">
        <strong>{kind === "question" ? strings.question.title : name}</strong>
        {shown !== undefined && <code dir="ltr">{revealInvisible(shown)}</code>}
        <span className="quiet">{formatMoment(askedAt)}</span>
      </span>
      <SessionLink id={sessionId} />
    </li>
  );
}
