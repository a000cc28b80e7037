import type { ChangedFileView } from "@holdfast/protocol";
import { type KeyboardEvent, useId, useMemo, useRef, useState } from "react";
import { changesStrings } from "../strings/changes.ts";
import { strings } from "../strings/strings.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import type { DiffComment } from "./comments.ts";
import { type DiffLine, readDiff } from "./read-diff.ts";

interface FileDiffProps {
  readonly file: ChangedFileView;
  readonly startsOpen: boolean;
  readonly comments: readonly DiffComment[];
  readonly onAdd: (comment: DiffComment) => void;
  readonly onRemove: (comment: DiffComment) => void;
}

const linesAtOnce = 300;
const t = changesStrings;

/** One changed file: its diff, and what a person says about it. */
export function FileDiffView({ file, startsOpen, comments, onAdd, onRemove }: FileDiffProps) {
  const { path, change, diff } = file;
  const [isOpen, setIsOpen] = useState(startsOpen);
  const { lines, added, removed, isCut } = useMemo(() => readDiff(diff), [diff]);
  const [limit, setLimit] = useState(linesAtOnce);
  /** The index of a line. */
  const [target, setTarget] = useState<number | "file" | null>(null);
  const line = typeof target === "number" ? (lines[target] ?? null) : null;
  const name = revealInvisible(path);
  return (
    <details
      className="changed-file"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary>
        <span className="changed-path" dir="auto">
          {name}
        </span>
        <span className="quiet">
          {t.change[change]}
          {diff !== "" && (
            <>
              {" "}
              <span aria-hidden="true">
                +{added} −{removed}
              </span>
              <span className="hidden-text">{t.counts(added, removed)}</span>
            </>
          )}
        </span>
      </summary>
      {isOpen && (
        <div className="changed-body">
          {diff === "" ? (
            <p className="quiet">{t.noDiff}</p>
          ) : (
            <DiffLines
              name={name}
              lines={lines.slice(0, limit)}
              chosen={typeof target === "number" ? target : null}
              onChoose={setTarget}
            />
          )}
          {lines.length > limit && (
            <button
              type="button"
              className="button plain"
              onClick={() => setLimit(limit + 2 * linesAtOnce)}
            >
              {t.showLines(lines.length - limit)}
            </button>
          )}
          {isCut && lines.length <= limit && <p className="quiet">{t.leftOut}</p>}
          <ul className="diff-comments">
            {comments.map((comment, index) => (
              <li key={index}>
                <span className="quiet">
                  {comment.at === null ? t.comment.whole : t.comment.line(comment.at.line)}
                </span>
                <p dir="auto">{comment.text}</p>
                <button
                  type="button"
                  className="icon-button small"
                  aria-label={t.comment.remove}
                  title={t.comment.remove}
                  onClick={() => onRemove(comment)}
                >
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ul>
          {target === null ? (
            <button type="button" className="button plain" onClick={() => setTarget("file")}>
              {t.comment.file}
            </button>
          ) : (
            <CommentForm
              name={name}
              line={line}
              onMove={(step) => setTarget(besides(lines, target, step))}
              onCancel={() => setTarget(null)}
              onAdd={(text) => {
                onAdd({ path, at: placeOf(line), text });
                setTarget(null);
              }}
            />
          )}
        </div>
      )}
    </details>
  );
}

function placeOf(target: DiffLine | null): DiffComment["at"] {
  if (target === null || target.kind === "place") return null;
  const { kind, line, text } = target;
  return { kind, line, text };
}

/** The next line that can be commented on; the same one at either end. */
function besides(
  lines: readonly DiffLine[],
  target: number | "file",
  step: 1 | -1,
): number | "file" {
  if (target === "file") return target;
  for (let index = target + step; lines[index] !== undefined; index += step)
    if (lines[index]?.kind !== "place") return index;
  return target;
}

interface DiffLinesProps {
  readonly name: string;
  readonly lines: readonly DiffLine[];
  /** The line that is being commented on. */
  readonly chosen: number | null;
  readonly onChoose: (index: number) => void;
}

/** A list with one stop for the Tab key: the arrows move within it. */
function DiffLines({ name, lines, chosen, onChoose }: DiffLinesProps) {
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const [moved, setActive] = useState(0);
  const active = chosen ?? moved;
  const idOf = (index: number): string => `${listId}-${index}`;

  function move(to: number): void {
    const index = Math.max(0, Math.min(lines.length - 1, to));
    setActive(index);
    list.current?.children[index]?.scrollIntoView({ block: "nearest" });
  }
  function choose(index: number): void {
    const line = lines[index];
    setActive(index);
    if (line !== undefined && line.kind !== "place") onChoose(index);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 10,
      PageUp: -10,
      Home: -lines.length,
      End: lines.length,
    };
    const step = steps[event.key];
    if (step !== undefined) move(active + step);
    else if (event.key === "Enter" || event.key === " ") choose(active);
    else return;
    event.preventDefault();
  }

  return (
    <div
      ref={list}
      className="diff changed-lines"
      role="listbox"
      tabIndex={0}
      dir="ltr"
      aria-label={t.lines(name)}
      aria-activedescendant={idOf(active)}
      onKeyDown={onKeyDown}
    >
      {lines.map(({ kind, text, line }, index) => (
        // The list itself has the focus and the keys.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
        <div
          key={index}
          id={idOf(index)}
          role="option"
          className={index === chosen ? `${kind} chosen` : kind}
          aria-selected={index === active}
          aria-disabled={kind === "place"}
          onClick={() => choose(index)}
        >
          <span className="line-number" aria-hidden="true">
            {kind === "place" ? "" : line}
          </span>
          <span className="line-text">{revealInvisible(text)}</span>
        </div>
      ))}
    </div>
  );
}

interface CommentFormProps {
  readonly name: string;
  /** `null`: the whole file. */
  readonly line: DiffLine | null;
  readonly onMove: (step: 1 | -1) => void;
  readonly onAdd: (text: string) => void;
  readonly onCancel: () => void;
}

function CommentForm({ name, line, onMove, onAdd, onCancel }: CommentFormProps) {
  const [text, setText] = useState("");
  const label = line === null ? t.comment.onFile(name) : t.comment.onLine(name, line.line);
  const mover = (step: 1 | -1, words: string, icon: IconName) => (
    <button
      type="button"
      className="icon-button small"
      aria-label={words}
      title={words}
      onClick={() => onMove(step)}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <form
      className="diff-comment-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") onAdd(text.trim());
      }}
    >
      <label className="field">
        <span>{label}</span>
        {line !== null && (
          <code className={`quoted-line ${line.kind}`} dir="ltr">
            {revealInvisible(line.text)}
          </code>
        )}
        <textarea
          // The person has just chosen the line.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          rows={3}
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            onCancel();
          }}
        />
      </label>
      <div className="row">
        <button type="submit" className="button primary" disabled={text.trim() === ""}>
          {t.comment.add}
        </button>
        <button type="button" className="button plain" onClick={onCancel}>
          {strings.common.cancel}
        </button>
        {line !== null && (
          <span className="line-movers">
            {mover(-1, t.comment.lineAbove, "up")}
            {mover(1, t.comment.lineBelow, "down")}
          </span>
        )}
      </div>
    </form>
  );
}
