import type { ApprovalAnswer, LiveView } from "@holdfast/protocol";
import { useState } from "react";
import { Icon } from "../ui/index.ts";
import { words } from "../words.ts";
import { useTalk } from "./actions.ts";
import { Arguments } from "./tool-parts.tsx";

type Approval = LiveView["approvals"][number];

/** A call that waits for a person's word, with exactly what would run. */
export function ApprovalCard({ approval }: { approval: Approval }) {
  const talk = useTalk();
  const [asking, setAsking] = useState(false);

  async function answer(decision: ApprovalAnswer): Promise<void> {
    setAsking(true);
    await talk.answer(approval.approvalId, decision);
    setAsking(false);
  }

  return (
    <section className="approval" aria-label={words.approval.title(approval.name)}>
      <h3>
        <Icon name="shield" />
        {words.approval.title(approval.name)}
      </h3>
      <Arguments input={approval.input} />
      <p className="quiet">{words.approval.lead}</p>
      <div className="row">
        <button
          type="button"
          className="button primary"
          disabled={asking}
          onClick={() => void answer("once")}
        >
          {words.approval.once}
        </button>
        {(["session", "always"] as const).map((decision) => (
          <button
            key={decision}
            type="button"
            className="button"
            disabled={asking}
            onClick={() => void answer(decision)}
          >
            {words.approval[decision]}
          </button>
        ))}
        <button
          type="button"
          className="button warn"
          disabled={asking}
          onClick={() => void answer("deny")}
        >
          {words.approval.deny}
        </button>
      </div>
    </section>
  );
}
