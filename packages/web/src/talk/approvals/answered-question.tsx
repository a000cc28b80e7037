import { type Json, questionOf, type ToolResultPart } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { Markdown } from "../../ui/markdown/markdown.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";

interface AnsweredQuestionProps {
  readonly name: string;
  readonly input: Json;
  readonly result: ToolResultPart;
}

/** What a tool asks people by its name; any other tool asks nothing. */
export function questionInCall(name: string, input: Json): string | null {
  if (name !== "ask_user" && name !== "submit_plan") return null;
  const asked = { kind: "question", ...(name === "submit_plan" && { plan: true as const }) };
  return questionOf(asked, input)?.question ?? null;
}

/** A question or a plan that was answered, with the answer. */
export function AnsweredQuestion({ name, input, result }: AnsweredQuestionProps) {
  const isPlan = name === "submit_plan";
  const t = isPlan ? strings.plan : strings.question;
  const question = <Markdown text={revealInvisible(questionInCall(name, input) ?? "")} />;
  return (
    <section className="answered" aria-label={t.answeredTitle}>
      <h3 className="host-label">
        <Icon name={isPlan ? "list" : "thought"} />
        {t.answeredTitle}
      </h3>
      {isPlan ? (
        <details>
          <summary className="quiet">{strings.plan.show}</summary>
          {question}
        </details>
      ) : (
        question
      )}
      <p className="answered-reply as-written" dir="auto">
        <span className="quiet">{t.reply}</span> {revealInvisible(replyOf(result, isPlan))}
      </p>
    </section>
  );
}

function replyOf({ outcome, output }: ToolResultPart, isPlan: boolean): string {
  const t = isPlan ? strings.plan : strings.question;
  if (outcome !== "ok") return t.declined;
  if (!isPlan) return output;
  // The model is told about a comment in a sentence, and gets it below.
  const end = output.indexOf("\n\n");
  return end === -1 ? strings.plan.approved : output.slice(end + 2);
}
