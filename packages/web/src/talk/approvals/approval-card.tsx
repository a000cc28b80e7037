import { type FormEvent, type ReactNode, useCallback, useState } from "react";
import { describeTaint, type LiveView, type ApprovalAnswer } from "@holdfast/protocol";
import { useStore } from "../../app-context.ts";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { ApprovalOptions, type LastingChoice } from "./approval-options.tsx";
import { QuestionCard } from "./question-card.tsx";
import { ShownCall } from "./shown-call.tsx";

type OpenApproval = LiveView["approvals"][number];

interface ApprovalCardProps {
  readonly approval: OpenApproval;
  /** Whether the keys for approvals answer this one. */
  readonly hasKeys: boolean;
}

/** An open approval: a call with exactly what would run, or a question to answer. */
export function ApprovalCard({ approval, hasKeys }: ApprovalCardProps) {
  return approval.kind === "question" ? (
    <QuestionCard approval={approval} />
  ) : (
    <CallCard approval={approval} hasKeys={hasKeys} />
  );
}

/** The command is right above the buttons: nobody should have to scroll to see what they allow. */
function CallCard({ approval, hasKeys }: ApprovalCardProps) {
  const { approvalId, rules = [], notes = [], after = [], hidden, onceOnly, sandbox } = approval;
  const talk = useTalk();
  const seen = useStore(talk.seenApprovals);
  const [isPending, setIsPending] = useState(false);
  const [isDenying, setIsDenying] = useState(false);
  const [choice, setChoice] = useState<LastingChoice>({ rule: rules[0], seconds: undefined });
  const onSeen = useCallback(
    () => talk.seenApprovals.mark(approvalId),
    [talk.seenApprovals, approvalId],
  );
  const isAllowable = seen.has(approvalId) && !isPending && hidden === undefined;
  const t = strings.approval;

  async function answer(decision: ApprovalAnswer, reason = ""): Promise<void> {
    setIsPending(true);
    const isLasting = decision === "session" || decision === "always";
    const { rule, seconds } = choice;
    await talk.answer(approvalId, {
      decision,
      ...(isLasting && rule !== undefined && { rule }),
      ...(isLasting && seconds !== undefined && { lastsSeconds: seconds }),
      ...(reason !== "" && { answer: reason }),
    });
    setIsPending(false);
  }

  return (
    <section className="approval" aria-label={t.title(approval.name)}>
      <h3>
        <Icon name="shield" />
        {t.title(approval.name)}
      </h3>
      {after.length > 0 && (
        <p className="approval-after">{t.after(revealInvisible(describeTaint(after)))}</p>
      )}
      {notes.map((note) => (
        <p key={note} className="approval-note">
          {revealInvisible(note)}
        </p>
      ))}
      {sandbox?.kind === "none" && (
        <p className="approval-unconfined">{revealInvisible(sandbox.words)}</p>
      )}
      {hidden !== undefined && <p className="approval-note">{t.hidden}</p>}
      <ShownCall approval={approval} onSeen={onSeen} />
      <div className="row approval-buttons">
        <button
          type="button"
          className="button primary"
          disabled={!isAllowable}
          aria-keyshortcuts={hasKeys ? "Alt+Y" : undefined}
          onClick={() => void answer("once")}
        >
          {t.once}
          {hasKeys && <KeyHint>Alt Y</KeyHint>}
        </button>
        {onceOnly !== true &&
          (["session", "always"] as const).map((decision) => (
            <button
              key={decision}
              type="button"
              className="button"
              disabled={!isAllowable}
              onClick={() => void answer(decision)}
            >
              {t[decision]}
            </button>
          ))}
        <button
          type="button"
          className="button warn"
          disabled={isPending}
          aria-keyshortcuts={hasKeys ? "Alt+N" : undefined}
          onClick={() => void answer("deny")}
        >
          {t.deny}
          {hasKeys && <KeyHint>Alt N</KeyHint>}
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label={t.denyWithReason}
          title={t.denyWithReason}
          aria-expanded={isDenying}
          disabled={isPending}
          onClick={() => setIsDenying(!isDenying)}
        >
          <Icon name="edit" />
        </button>
      </div>
      {isDenying && (
        <DenialForm isPending={isPending} onDeny={(reason) => void answer("deny", reason)} />
      )}
      <ApprovalOptions approval={approval} choice={choice} onChange={setChoice} />
    </section>
  );
}

/** Hidden from assistive technology, which reads `aria-keyshortcuts`. */
function KeyHint({ children }: { children: ReactNode }) {
  return (
    <kbd className="key-hint" aria-hidden>
      {children}
    </kbd>
  );
}

const maxReasonLength = 10_000;

interface DenialFormProps {
  readonly isPending: boolean;
  readonly onDeny: (reason: string) => void;
}

/** The model is told the reason, and can act on it. */
function DenialForm({ isPending, onDeny }: DenialFormProps) {
  const [reason, setReason] = useState("");
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (reason.trim() !== "") onDeny(reason.trim());
  }
  return (
    <form className="row" onSubmit={submit}>
      <input
        type="text"
        className="input"
        aria-label={strings.approval.reason}
        placeholder={strings.approval.reason}
        maxLength={maxReasonLength}
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <button type="submit" className="button warn" disabled={isPending || reason.trim() === ""}>
        {strings.approval.denyAndSay}
      </button>
    </form>
  );
}
