import { type FormEvent, useState, useId } from "react";
import { z } from "zod";
import type { LiveView, ApprovalAnswer } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { ToolArguments, LabelledBlock, withWorkspaceName } from "./tool-details.tsx";

type OpenApproval = LiveView["approvals"][number];

/** An open approval: a call with exactly what would run, or a question to answer. */
export function ApprovalCard({ approval }: { approval: OpenApproval }) {
  return approval.kind === "question" ? (
    <QuestionCard approval={approval} />
  ) : (
    <CallCard approval={approval} />
  );
}

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});
const maxAnswerLength = 10_000;

/** A question of the model. The run waits for one of its choices or a free answer. */
function QuestionCard({ approval: { approvalId, input } }: { approval: OpenApproval }) {
  const talk = useTalk();
  const [isPending, setIsPending] = useState(false);
  const [text, setText] = useState("");
  const question = questionInput.safeParse(input).data;

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
    <section className="approval" aria-label={strings.question.title}>
      <h3>
        <Icon name="thought" />
        {strings.question.title}
      </h3>
      {question === undefined ? (
        <ToolArguments input={input} />
      ) : (
        <p className="as-written" dir="auto">
          {revealInvisible(question.question)}
        </p>
      )}
      {question?.choices !== undefined && (
        <div className="row">
          {question.choices.map((choice, index) => (
            <button
              key={index}
              type="button"
              className="button"
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
          aria-label={strings.question.field}
          placeholder={strings.question.field}
          maxLength={maxAnswerLength}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button primary" disabled={isPending || text.trim() === ""}>
          {strings.question.send}
        </button>
        <button
          type="button"
          className="button warn"
          disabled={isPending}
          onClick={() => void answer({ decision: "deny" })}
        >
          {strings.question.decline}
        </button>
      </form>
    </section>
  );
}

function CallCard({ approval }: { approval: OpenApproval }) {
  const talk = useTalk();
  const [isPending, setIsPending] = useState(false);
  const rules = approval.rules ?? [];
  const [rule, setRule] = useState(rules[0]);

  async function answer(decision: ApprovalAnswer): Promise<void> {
    setIsPending(true);
    const isLasting = decision === "session" || decision === "always";
    await talk.answer(approval.approvalId, {
      decision,
      ...(isLasting && rule !== undefined && { rule }),
    });
    setIsPending(false);
  }

  return (
    <section className="approval" aria-label={strings.approval.title(approval.name)}>
      <h3>
        <Icon name="shield" />
        {strings.approval.title(approval.name)}
      </h3>
      <CallDetails approval={approval} />
      <p className="quiet">{strings.approval.lead}</p>
      <div className="row">
        <button
          type="button"
          className="button primary"
          disabled={isPending}
          onClick={() => void answer("once")}
        >
          {strings.approval.once}
        </button>
        {(["session", "always"] as const).map((decision) => (
          <button
            key={decision}
            type="button"
            className="button"
            disabled={isPending}
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
      {rule !== undefined && <RuleChoice rules={rules} rule={rule} onChange={setRule} />}
    </section>
  );
}

/** The host's own description, if it has one. It may be shortened; the arguments below it are complete. */
function CallDetails({ approval: { input, shown, place: workspace } }: { approval: OpenApproval }) {
  if (shown === undefined)
    return (
      <>
        <ToolArguments input={input} />
        {workspace !== undefined && (
          <p className="quiet">{strings.approval.workspace(workspace)}</p>
        )}
      </>
    );
  return (
    <>
      <LabelledBlock label={strings.approval.shown} copy={shown}>
        <pre dir="ltr">{revealInvisible(withWorkspaceName(shown, workspace))}</pre>
      </LabelledBlock>
      <details className="approval-whole">
        <summary className="quiet">{strings.approval.whole}</summary>
        <ToolArguments input={input} />
        {workspace !== undefined && (
          <p className="quiet">{strings.approval.workspace(revealInvisible(workspace))}</p>
        )}
      </details>
    </>
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
