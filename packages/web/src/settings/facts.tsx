import { type FormEvent, useCallback, useEffect, useId, useRef, useState } from "react";
import type { FactUse, FactView } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { linkProps } from "../router/router.ts";
import { Dialog } from "../ui/dialog.tsx";
import { formatDay } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";

interface FoundFacts {
  readonly facts: readonly FactView[];
  readonly total: number;
}

/** What the agent knows about the person: search, add, change, delete. */
export function Facts() {
  const { client, toasts } = useApp();
  const [words, setWords] = useState("");
  const [found, setFound] = useState<FoundFacts | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  /** The response to an earlier request is stale. */
  const requests = useRef(0);
  const t = strings.facts;

  const load = useCallback(
    (query: string) => {
      const request = ++requests.current;
      void client.listFacts({ query: { q: query.trim().slice(0, 200) } }).then((result) => {
        if (request !== requests.current) return undefined;
        if (result.ok) setFound(result.value);
        setFailure(result.ok ? null : problemText(result.error));
        return undefined;
      });
    },
    [client],
  );
  useEffect(() => load(words), [load, words]);
  const reload = (): void => load(words);

  async function add(text: string, use: FactUse): Promise<boolean> {
    const result = await client.addFact({ body: { text, use } });
    toasts.show(result.ok ? t.added : problemText(result.error));
    if (result.ok) reload();
    return result.ok;
  }

  return (
    <section className="settings-section">
      <h3>{t.title}</h3>
      <p className="quiet">{t.hint}</p>
      <AddFact onAdd={add} />
      <SearchField value={words} onChange={setWords} />
      {failure !== null && <p className="trouble">{failure}</p>}
      {found !== null && found.facts.length === 0 && (
        <p className="quiet">{words.trim() === "" ? t.none : t.notFound}</p>
      )}
      {found !== null && found.facts.length > 0 && (
        <ul className="facts-list" aria-label={t.title}>
          {found.facts.map((fact) => (
            <FactRow key={fact.id} fact={fact} onChange={reload} />
          ))}
        </ul>
      )}
      {found !== null && found.total > found.facts.length && (
        <p className="quiet">{t.more(found.facts.length, found.total)}</p>
      )}
      <p className="quiet">{t.files}</p>
    </section>
  );
}

function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const id = useId();
  return (
    <div className="field">
      <label className="quiet" htmlFor={id}>
        {strings.facts.search}
      </label>
      <input
        id={id}
        className="input"
        type="search"
        dir="auto"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

function AddFact({ onAdd }: { onAdd: (text: string, use: FactUse) => Promise<boolean> }) {
  const [text, setText] = useState("");
  const [use, setUse] = useState<FactUse>("always");
  const id = useId();
  const t = strings.facts;
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (await onAdd(text, use)) setText("");
  }
  return (
    <form className="fact-form" aria-label={t.add} onSubmit={(event) => void submit(event)}>
      <div className="field">
        <label className="quiet" htmlFor={id}>
          {t.addLabel}
        </label>
        <input
          id={id}
          className="input"
          type="text"
          dir="auto"
          maxLength={2_000}
          placeholder={t.addPlaceholder}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <UseChoice label={t.chooseUse(text)} value={use} onChange={setUse} />
      <button type="submit" className="button" disabled={text.trim() === ""}>
        {t.add}
      </button>
    </form>
  );
}

interface UseChoiceProps {
  readonly label: string;
  readonly value: FactUse;
  readonly onChange: (use: FactUse) => void;
}

function UseChoice({ label, value, onChange }: UseChoiceProps) {
  const options = strings.facts.use;
  return (
    <select
      className="input fact-use"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value === "always" ? "always" : "when_it_fits")}
    >
      <option value="always">{options.always}</option>
      <option value="when_it_fits">{options.when_it_fits}</option>
    </select>
  );
}

function FactRow({ fact, onChange }: { fact: FactView; onChange: () => void }) {
  const { client, toasts } = useApp();
  const [isEditing, setEditing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const t = strings.facts;
  const request = { params: { id: fact.id }, headers: { "if-match": fact.version } };

  async function change(body: { text?: string; use?: FactUse }): Promise<boolean> {
    const result = await client.changeFact({ ...request, body });
    report(result.ok ? t.saved : result.error);
    return result.ok;
  }
  async function remove(): Promise<void> {
    const result = await client.removeFact(request);
    report(result.ok ? t.deleted : result.error);
  }
  /** After a conflict the list shows what somebody else has written. */
  function report(result: string | Parameters<typeof problemText>[0]): void {
    if (typeof result === "string") toasts.show(result);
    else toasts.show(result.code === "fact_changed" ? t.conflict : problemText(result));
    onChange();
  }

  return (
    <li>
      {isEditing ? (
        <EditFact
          text={fact.text}
          onSave={async (text) => {
            if (await change({ text })) setEditing(false);
          }}
          onCancel={() => setEditing(false)}
        />
      ) : (
        <>
          <span className="fact-text">
            <span dir="auto">{revealInvisible(fact.text)}</span>
            <FactOrigin fact={fact} />
          </span>
          <span className="row fact-actions">
            <UseChoice
              label={t.chooseUse(fact.text)}
              value={fact.use}
              onChange={(use) => void change({ use })}
            />
            <button
              type="button"
              className="button plain"
              aria-label={t.editNamed(fact.text)}
              onClick={() => setEditing(true)}
            >
              {t.edit}
            </button>
            <button
              type="button"
              className="button plain"
              aria-label={t.deleteNamed(fact.text)}
              onClick={() => setDeleting(true)}
            >
              {t.delete}
            </button>
          </span>
        </>
      )}
      {isDeleting && (
        <Dialog
          title={t.deleteTitle}
          confirm={t.delete}
          tone="warn"
          onConfirm={() => void remove()}
          onClose={() => setDeleting(false)}
        >
          <p dir="auto">{revealInvisible(fact.text)}</p>
          <p className="quiet">{t.deleteHint}</p>
        </Dialog>
      )}
    </li>
  );
}

function FactOrigin({ fact: { source, at, state, versions } }: { fact: FactView }) {
  const { router } = useApp();
  const t = strings.facts;
  return (
    <span className="quiet fact-origin">
      {state === "waiting" && <strong>{t.waiting}</strong>}
      <span>
        {source.kind === "file"
          ? t.source.file(source.file ?? t.source.unknown)
          : t.source[source.kind]}
        , {formatDay(at)}
      </span>
      {source.sessionId !== undefined && (
        <a {...linkProps(router, { kind: "session", id: source.sessionId, at: null })}>
          {t.openSource}
        </a>
      )}
      {versions.length > 0 && (
        <details>
          <summary>{t.versions(versions.length)}</summary>
          <ol reversed>
            {versions.toReversed().map(({ text, at: until }) => (
              <li key={`${until} ${text}`} dir="auto">
                {revealInvisible(text)} ({formatDay(until)})
              </li>
            ))}
          </ol>
        </details>
      )}
    </span>
  );
}

interface EditFactProps {
  readonly text: string;
  readonly onSave: (text: string) => Promise<void>;
  readonly onCancel: () => void;
}

function EditFact({ text: saved, onSave, onCancel }: EditFactProps) {
  const [text, setText] = useState(saved);
  const t = strings.facts;
  return (
    <form
      className="fact-edit"
      aria-label={t.editNamed(saved)}
      onSubmit={(event) => {
        event.preventDefault();
        void onSave(text);
      }}
    >
      <input
        className="input"
        type="text"
        dir="auto"
        maxLength={2_000}
        aria-label={t.textLabel}
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onCancel()}
      />
      <span className="row">
        <button type="submit" className="button" disabled={text.trim() === ""}>
          {t.save}
        </button>
        <button type="button" className="button plain" onClick={onCancel}>
          {strings.common.cancel}
        </button>
      </span>
    </form>
  );
}
