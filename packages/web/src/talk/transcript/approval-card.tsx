import { type FormEvent, useCallback, useId, useState } from "react";
import { describeTaint, type LiveView, type ApprovalAnswer, questionOf } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { ShownCall } from "./shown-call.tsx";
import { ToolArguments } from "./tool-details.tsx";

type OpenApproval = LiveView["approvals"][number];

/** An open approval: a call with exactly what would run, or a question to answer. */
export function ApprovalCard({ approval }: { approval: OpenApproval }) {
  return approval.kind === "question" ? (
    <QuestionCard approval={approval} />
  ) : (
    <CallCard approval={approval} />
  );
}

const maxAnswerLength = 10_000;

/** A question of the model, or its plan. The run waits for one of its choices or a free answer. */
function QuestionCard({ approval }: { approval: OpenApproval }) {
  const talk = useTalk();
  const [isPending, setIsPending] = useState(false);
  const [text, setText] = useState("");
  const { approvalId, input, after = [] } = approval;
  const question = questionOf(approval, input);
  const isPlan = approval.plan === true;
  const t = isPlan ? strings.plan : strings.question;

  async function answer(reply: Parameters<typeof talk.answer>[1]): Promise<void> {
    setIsPending(true);
    await talk.answer(approvalId, reply);
    setIsPending(false);
  }
  function send(event: FormEvent): void {
    event.preventDefault();
    if (text.trim() !== "") void answer({ decision: "once", answer: text.trim() });
  }

  return (
    <section className="approval" aria-label={t.title}>
      <h3>
        <Icon name={isPlan ? "list" : "thought"} />
        {t.title}
      </h3>
      {isPlan && after.length > 0 && (
        <p className="approval-after">
          {strings.approval.after(revealInvisible(describeTaint(after)))}
        </p>
      )}
      {question === undefined ? (
        <ToolArguments input={input} />
      ) : (
        <p className={isPlan ? "as-written approval-plan" : "as-written"} dir="auto">
          {revealInvisible(question.question)}
        </p>
      )}
      {isPlan && <p className="quiet">{strings.plan.lead}</p>}
      {question !== undefined && question.choices.length > 0 && (
        <div className="row">
          {question.choices.map((choice, index) => (
            <button
              key={index}
              type="button"
              className={isPlan && index === 0 ? "button primary" : "button"}
              disabled={isPending}
              onClick={() => void answer({ decision: "once", answer: choice })}
            >
              {revealInvisible(choice)}
            </button>
          ))}
        </div>
      )}
      <form className="row" onSubmit={send}>
        <input
          type="text"
          className="input"
          aria-label={t.field}
          placeholder={t.field}
          maxLength={maxAnswerLength}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button
          type="submit"
          className={isPlan ? "button" : "button primary"}
          disabled={isPending || text.trim() === ""}
        >
          {t.send}
        </button>
        <button
          type="button"
          className="button warn"
          disabled={isPending}
          onClick={() => void answer({ decision: "deny" })}
        >
          {t.decline}
        </button>
      </form>
    </section>
  );
}

const hour = 3_600;
/** How long a lasting yes holds, in seconds; the first is without an end. */
const durations = [undefined, hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour] as const;

function CallCard({ approval }: { approval: OpenApproval }) {
  const talk = useTalk();
  const [isPending, setIsPending] = useState(false);
  const [isSeen, setIsSeen] = useState(false);
  const onSeen = useCallback(() => setIsSeen(true), []);
  const { rules = [], notes = [], hidden, onceOnly } = approval;
  const [rule, setRule] = useState(rules[0]);
  const [lastsSeconds, setLastsSeconds] = useState<number | undefined>(undefined);
  const isAllowable = isSeen && !isPending && hidden === undefined;

  async function answer(decision: ApprovalAnswer): Promise<void> {
    setIsPending(true);
    const isLasting = decision === "session" || decision === "always";
    await talk.answer(approval.approvalId, {
      decision,
      ...(isLasting && rule !== undefined && { rule }),
      ...(isLasting && lastsSeconds !== undefined && { lastsSeconds }),
    });
    setIsPending(false);
  }

  return (
    <section className="approval" aria-label={strings.approval.title(approval.name)}>
      <h3>
        <Icon name="shield" />
        {strings.approval.title(approval.name)}
      </h3>
      {approval.after !== undefined && approval.after.length > 0 && (
        <p className="approval-after">
          {strings.approval.after(revealInvisible(describeTaint(approval.after)))}
        </p>
      )}
      {notes.map((note) => (
        <p key={note} className="approval-note">
          {revealInvisible(note)}
        </p>
      ))}
      <ShownCall approval={approval} onSeen={onSeen} />
      {approval.sandbox !== undefined && (
        <p className={approval.sandbox.kind === "none" ? "approval-unconfined" : "quiet"}>
          {revealInvisible(approval.sandbox.words)}
        </p>
      )}
      <p className="quiet">
        {hidden === undefined ? strings.approval.lead : strings.approval.hidden}{" "}
        {onceOnly === true && strings.approval.onceOnly}
      </p>
      <div className="row">
        <button
          type="button"
          className="button primary"
          disabled={!isAllowable}
          onClick={() => void answer("once")}
        >
          {strings.approval.once}
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
              {strings.approval[decision]}
            </button>
          ))}
        <button
          type="button"
          className="button warn"
          disabled={isPending}
          onClick={() => void answer("deny")}
        >
          {strings.approval.deny}
        </button>
      </div>
      {onceOnly !== true && (
        <>
          {rule !== undefined && <RuleChoice rules={rules} rule={rule} onChange={setRule} />}
          <DurationChoice seconds={lastsSeconds} onChange={setLastsSeconds} />
        </>
      )}
    </section>
  );
}

interface DurationChoiceProps {
  readonly seconds: number | undefined;
  readonly onChange: (seconds: number | undefined) => void;
}

function DurationChoice({ seconds, onChange }: DurationChoiceProps) {
  const id = useId();
  return (
    <div className="approval-rule">
      <label className="quiet" htmlFor={id}>
        {strings.approval.lasts}
      </label>
      <select
        id={id}
        value={seconds ?? ""}
        onChange={({ target: { value } }) => onChange(value === "" ? undefined : Number(value))}
      >
        {durations.map((duration) => (
          <option key={duration ?? "always"} value={duration ?? ""}>
            {duration === undefined
              ? strings.approval.untilRevoked
              : strings.approval.duration(duration / hour)}
          </option>
        ))}
      </select>
    </div>
  );
}

interface RuleChoiceProps {
  readonly rules: readonly string[];
  readonly rule: string;
  readonly onChange: (rule: string) => void;
}

/** Which calls a lasting approval would cover, so that nobody allows more than they have read. */
function RuleChoice({ rules, rule, onChange }: RuleChoiceProps) {
  const id = useId();
  if (rules.length === 1)
    return (
      <p className="quiet">
        {strings.approval.covers} <code dir="ltr">{revealInvisible(rule)}</code>
      </p>
    );
  return (
    <div className="approval-rule">
      <label className="quiet" htmlFor={id}>
        {strings.approval.covers}
      </label>
      <select id={id} dir="ltr" value={rule} onChange={(event) => onChange(event.target.value)}>
        {rules.map((option) => (
          <option key={option} value={option}>
            {revealInvisible(option)}
          </option>
        ))}
      </select>
    </div>
  );
}
