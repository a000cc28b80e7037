import { type FormEvent, useState } from "react";
import { describeTaint, type LiveView, questionOf } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { Markdown } from "../../ui/markdown/markdown.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { QuestionForm } from "./question-form.tsx";
import { ToolArguments } from "../transcript/tool-details.tsx";

type OpenApproval = LiveView["approvals"][number];

const maxAnswerLength = 10_000;

/** `null` for what is no page: nobody is sent there. */
function pageHost(link: string): string | null {
  const url = URL.parse(link);
  return url !== null && (url.protocol === "https:" || url.protocol === "http:") ? url.host : null;
}

/** A question of the model, or its plan. The run waits for one of its choices or a free answer. */
export function QuestionCard({ approval }: { approval: OpenApproval }) {
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

  const hasOwnFields = (question?.form?.length ?? 0) > 0 || question?.link !== undefined;
  const host = question?.link === undefined ? null : pageHost(question.link);
  const decline = (
    <button
      type="button"
      className="button warn"
      disabled={isPending}
      onClick={() => void answer({ decision: "deny" })}
    >
      {t.decline}
    </button>
  );
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
        <div className={isPlan ? "approval-question plan" : "approval-question"}>
          <Markdown text={revealInvisible(question.lead ?? question.question)} />
        </div>
      )}
      {isPlan && <p className="quiet">{strings.plan.lead}</p>}
      {question?.link !== undefined && host !== null && (
        <>
          <p className="quiet">{strings.question.leadsTo}</p>
          <code className="approval-link" dir="ltr">
            {revealInvisible(question.link)}
          </code>
          <div className="row">
            <a
              className="button primary"
              href={question.link}
              target="_blank"
              rel="noopener noreferrer"
              onClick={() =>
                void answer({
                  decision: "once",
                  answer: question.choices[0] ?? question.link ?? "",
                })
              }
            >
              {strings.question.open(revealInvisible(host))}
            </a>
            {decline}
          </div>
        </>
      )}
      {question?.form !== undefined && question.form.length > 0 && (
        <QuestionForm
          fields={question.form}
          isPending={isPending}
          onSend={(words) => void answer({ decision: "once", answer: words })}
        >
          {decline}
        </QuestionForm>
      )}
      {!hasOwnFields && (
        <>
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
            {decline}
          </form>
        </>
      )}
    </section>
  );
}
