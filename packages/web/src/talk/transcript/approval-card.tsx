import type { LiveView } from "@holdfast/protocol";
import { type FormEvent, useState } from "react";
import { z } from "zod";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { ToolArguments } from "./tool-parts.tsx";

type OpenQuestion = LiveView["approvals"][number];

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});
const maxAnswerLength = 10_000;

/** The model asks, and the run waits for what a person says: one of its choices, or words of their own. */
export function QuestionCard({ approval: { approvalId, input } }: { approval: OpenQuestion }) {
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
