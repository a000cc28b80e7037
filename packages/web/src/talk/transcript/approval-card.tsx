import { type FormEvent, useState, useId } from "react";
import { z } from "zod";
import type { LiveView, ApprovalAnswer } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { ToolArguments, LabelledBlock, withWorkspaceName } from "./tool-details.tsx";

type OpenQuestion = LiveView["approvals"][number];

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});
const maxAnswerLength = 10_000;

/** The model asks, and the run waits for what a person says: one of its choices, or words of their own. */
function QuestionCard({ approval: { approvalId, input } }: { approval: OpenQuestion }) {
  const talk = useTalk();
  const [asking, setAsking] = useState(false);
  const [text, setText] = useState("");
  const asked = questionInput.safeParse(input).data;

  async function answer(word: Parameters<typeof talk.answer>[1]): Promise<void> {
    setAsking(true);
    await talk.answer(approvalId, word);
    setAsking(false);
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
      {asked === undefined ? (
        <ToolArguments input={input} />
      ) : (
        <p className="as-written" dir="auto">
          {revealInvisible(asked.question)}
        </p>
      )}
      {asked?.choices !== undefined && (
        <div className="row">
          {asked.choices.map((choice, index) => (
            <button
              key={index}
              type="button"
              className="button"
              disabled={asking}
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
        <button type="submit" className="button primary" disabled={asking || text.trim() === ""}>
          {strings.question.send}
        </button>
        <button
          type="button"
          className="button warn"
          disabled={asking}
          onClick={() => void answer({ decision: "deny" })}
        >
          {strings.question.decline}
        </button>
      </form>
    </section>
  );
}

type OpenApproval = LiveView["approvals"][number];

/** What waits for a person's word: a call with exactly what would run, or a question to answer. */
export function ApprovalCard({ approval }: { approval: OpenApproval }) {
  return approval.kind === "question" ? (
    <QuestionCard approval={approval} />
  ) : (
    <CallCard approval={approval} />
  );
}

function CallCard({ approval }: { approval: OpenApproval }) {
  const talk = useTalk();
  const [asking, setAsking] = useState(false);
  const rules = approval.rules ?? [];
  const [rule, setRule] = useState(rules[0]);

  async function answer(decision: ApprovalAnswer): Promise<void> {
    setAsking(true);
    const goesOn = decision === "session" || decision === "always";
    await talk.answer(approval.approvalId, {
      decision,
      ...(goesOn && rule !== undefined && { rule }),
    });
    setAsking(false);
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
          disabled={asking}
          onClick={() => void answer("once")}
        >
          {strings.approval.once}
        </button>
        {(["session", "always"] as const).map((decision) => (
          <button
            key={decision}
            type="button"
            className="button"
            disabled={asking}
            onClick={() => void answer(decision)}
          >
            {strings.approval[decision]}
          </button>
        ))}
        <button
          type="button"
          className="button warn"
          disabled={asking}
          onClick={() => void answer("deny")}
        >
          {strings.approval.deny}
        </button>
      </div>
      {rule !== undefined && <RuleChoice rules={rules} rule={rule} choose={setRule} />}
    </section>
  );
}

/** The host's own words for it where it has some; they may be shortened, the arguments below them are whole. */
function CallDetails({ approval: { input, shown, place } }: { approval: OpenApproval }) {
  if (shown === undefined)
    return (
      <>
        <ToolArguments input={input} />
        {place !== undefined && <p className="quiet">{strings.approval.place(place)}</p>}
      </>
    );
  return (
    <>
      <LabelledBlock label={strings.approval.shown} copy={shown}>
        <pre dir="ltr">{revealInvisible(withWorkspaceName(shown, place))}</pre>
      </LabelledBlock>
      <details className="approval-whole">
        <summary className="quiet">{strings.approval.whole}</summary>
        <ToolArguments input={input} />
        {place !== undefined && (
          <p className="quiet">{strings.approval.place(revealInvisible(place))}</p>
        )}
      </details>
    </>
  );
}

interface RuleChoiceProps {
  readonly rules: readonly string[];
  readonly rule: string;
  readonly choose: (rule: string) => void;
}

/** What a lasting yes would cover, so that nobody allows more than they have read. */
function RuleChoice({ rules, rule, choose }: RuleChoiceProps) {
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
      <select id={id} dir="ltr" value={rule} onChange={(event) => choose(event.target.value)}>
        {rules.map((each) => (
          <option key={each} value={each}>
            {revealInvisible(each)}
          </option>
        ))}
      </select>
    </div>
  );
}
