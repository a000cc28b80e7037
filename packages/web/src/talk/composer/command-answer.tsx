import { type CommandAnswer, scheduleInWords } from "@holdfast/client";
import { usageOf, type UsageTotalsView } from "@holdfast/protocol";
import { useApp } from "../../app-context.ts";
import { titleOf } from "../../sessions/session-actions.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { momentOf } from "../../ui/format-time.ts";
import { words } from "../../strings/strings.ts";
import { Processes } from "../run-status.tsx";

/** What a command answered with that is worth reading. What it changed, the page shows anyway. */
export type Readable = Extract<
  CommandAnswer,
  {
    kind:
      | "help"
      | "sessions"
      | "hits"
      | "model"
      | "memory"
      | "usage"
      | "status"
      | "inbox"
      | "schedules"
      | "processes"
      | "title";
  }
>;

export function isReadable(answer: CommandAnswer): answer is Readable {
  const kinds = [
    "help",
    "sessions",
    "hits",
    "model",
    "memory",
    "usage",
    "status",
    "inbox",
    "schedules",
    "processes",
    "title",
  ];
  return kinds.includes(answer.kind);
}

export function AnswerDialog({ answer, onClose }: { answer: Readable; onClose: () => void }) {
  return (
    <Dialog title={words.command.title[answer.kind]} onClose={onClose}>
      <div className="answer">
        <Body answer={answer} onLeave={onClose} />
      </div>
    </Dialog>
  );
}

function Body({ answer, onLeave }: { answer: Readable; onLeave: () => void }) {
  const { router } = useApp();
  switch (answer.kind) {
    case "help":
      return (
        <dl className="facts">
          {answer.commands.map((command) => (
            <Fact key={command.name} name={usageOf(command)} value={command.help} />
          ))}
        </dl>
      );
    case "sessions":
      return answer.sessions.length === 0 ? (
        <p className="quiet">{words.sessions.noHits}</p>
      ) : (
        <Choices
          all={answer.sessions.map((session) => ({
            key: session.id,
            text: titleOf(session),
            onChoose: () => router.go({ kind: "session", id: session.id, at: null }),
          }))}
          onLeave={onLeave}
        />
      );
    case "hits":
      return answer.hits.length === 0 ? (
        <p className="quiet">{words.sessions.noHits}</p>
      ) : (
        <Choices
          all={answer.hits.map(({ sessionId, seq, snippet }) => ({
            key: `${sessionId} ${seq}`,
            text: snippet,
            onChoose: () => router.go({ kind: "session", id: sessionId, at: seq }),
          }))}
          onLeave={onLeave}
        />
      );
    case "model":
      return (
        <p>
          {answer.model ?? words.composer.defaultModel}
          {answer.models.length > 0 && <span className="quiet"> {answer.models.join(", ")}</span>}
        </p>
      );
    case "title":
      return <p>{answer.title ?? words.sessions.untitled}</p>;
    case "memory":
      return (
        <dl className="facts">
          <Fact name={words.command.turns} value={String(answer.turns)} />
          <Fact name={words.command.sessions} value={String(answer.sessions)} />
          {answer.failing !== null && (
            <Fact name={words.command.failing} value={answer.failing.message} />
          )}
        </dl>
      );
    case "usage":
      return (
        <dl className="facts">
          {answer.session !== null && (
            <Fact name={words.command.here} value={usageWords(answer.session)} />
          )}
          <Fact name={words.command.today} value={usageWords(answer.today)} />
          <Fact name={words.command.ever} value={usageWords(answer.all)} />
        </dl>
      );
    case "status":
      return (
        <dl className="facts">
          <Fact name={words.command.run} value={answer.run?.state ?? words.command.none} />
          <Fact name={words.queue.label} value={String(answer.inbox.length)} />
          <Fact name={words.settings.openApprovals} value={String(answer.approvals.length)} />
          <Fact name={words.command.messages} value={String(answer.session.messageCount)} />
          <Fact name={words.command.since} value={momentOf(answer.session.createdAt)} />
        </dl>
      );
    case "schedules":
      return answer.schedules.length === 0 ? (
        <p className="quiet">{words.command.nothingScheduled}</p>
      ) : (
        <ol>
          {answer.schedules.map((schedule) => (
            <li key={schedule.id}>{scheduleInWords(schedule)}</li>
          ))}
        </ol>
      );
    case "processes":
      return <Processes all={answer.processes} />;
    case "inbox":
      return answer.inbox.length === 0 ? (
        <p className="quiet">{words.command.nothingWaits}</p>
      ) : (
        <ol>
          {answer.inbox.map(({ messageId, text }) => (
            <li key={messageId}>{text}</li>
          ))}
        </ol>
      );
  }
}

function usageWords({ input, output, costMicros }: UsageTotalsView): string {
  return words.command.tokens(input, output, costMicros);
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

interface Choice {
  readonly key: string;
  readonly text: string;
  readonly onChoose: () => void;
}

function Choices({ all, onLeave }: { all: readonly Choice[]; onLeave: () => void }) {
  return (
    <ul>
      {all.map(({ key, text, onChoose }) => (
        <li key={key}>
          <button
            type="button"
            className="menu-item"
            onClick={() => {
              onLeave();
              onChoose();
            }}
          >
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}
