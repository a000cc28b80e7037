import type { EntryView, LiveView, Part } from "@holdfast/protocol";

const whyPartial = {
  cancelled: "Stopped here.",
  interrupted: "Interrupted here.",
  failed: "The model failed here.",
  limit: "A limit was reached here.",
};

/** One row of the conversation. Text is shown as text: nothing that a model says becomes markup. */
export function Entry({ entry }: { entry: EntryView }) {
  switch (entry.type) {
    case "message":
      return (
        <article className={`entry ${entry.role}`} aria-label={entry.role}>
          {entry.parts.map((part, index) => (
            <PartView key={index} part={part} />
          ))}
          {entry.superseded === true && (
            <p className="quiet">Found late; the answer was given again below.</p>
          )}
          {entry.partial !== undefined && <p className="quiet">{whyPartial[entry.partial]}</p>}
        </article>
      );
    case "notice":
      return (
        <p className="entry notice" role="note">
          {entry.text}
        </p>
      );
    case "compaction":
      return <p className="entry notice">What came before was summarised for the model.</p>;
    case "epoch":
      return null;
  }
}

function PartView({ part }: { part: Part }) {
  switch (part.type) {
    case "text":
    case "notice":
      return <p className="said">{part.text}</p>;
    case "reasoning":
      return <Reasoning text={part.text} />;
    case "tool_call":
      return (
        <p className="quiet">
          Calls <code>{part.name}</code>
        </p>
      );
    case "tool_result":
      return (
        <details className="tool">
          <summary>
            <code>{part.name}</code> {part.outcome === "ok" ? "is done" : part.outcome}
          </summary>
          <pre>{part.output}</pre>
        </details>
      );
    case "file":
      return <p className="quiet">{part.name}</p>;
    case "image":
      return <p className="quiet">{part.name ?? "An image"}</p>;
    case "attached":
      return (
        <details className="tool">
          <summary>Given to the model: {part.source}</summary>
          <p className="said">{part.text}</p>
        </details>
      );
  }
}

function Reasoning({ text }: { text: string }) {
  return (
    <details className="tool">
      <summary>Thoughts</summary>
      <p className="said">{text}</p>
    </details>
  );
}

/** What the run is writing: durable already, and not settled yet. */
export function Live({ live }: { live: LiveView }) {
  return (
    <>
      {live.messages.map((message) => (
        <article key={message.messageId} className="entry assistant" aria-label="assistant">
          {message.parts.map((part) =>
            part.kind === "text" ? (
              <p key={part.part} className="said">
                {part.text}
              </p>
            ) : (
              <Reasoning key={part.part} text={part.text} />
            ),
          )}
        </article>
      ))}
      {live.tools.map((tool) => (
        <details key={tool.callId} className="entry tool" open={tool.outcome === null}>
          <summary>
            <code>{tool.name}</code> {tool.outcome ?? "is running"}
          </summary>
          <pre>{tool.output}</pre>
        </details>
      ))}
    </>
  );
}
