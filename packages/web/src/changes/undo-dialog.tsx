import type { FileChangesView, SessionId } from "@holdfast/protocol";
import { useId, useState } from "react";
// Its styles come with it.
// oxlint-disable-next-line import/no-unassigned-import
import "../styles/changes.css";
import { changesStrings } from "../strings/changes.ts";
import { Dialog } from "../ui/dialog.tsx";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { useChanges } from "./use-changes.ts";

export type UndoChoice = "both" | "files" | "conversation";

interface UndoDialogProps {
  readonly id: SessionId;
  readonly onUndo: (choice: UndoChoice) => void;
  readonly onClose: () => void;
}

const t = changesStrings.undo;
const lastTurn = {};

/** What the undo of the last turn would do to its files, and the choice of what to undo. */
export function UndoDialog({ id, onUndo, onClose }: UndoDialogProps) {
  const { view, trouble } = useChanges(id, lastTurn);
  const [chosen, setChosen] = useState<UndoChoice>("both");
  const canFiles = view !== null && view.files.length > 0;
  const choice = canFiles ? chosen : "conversation";
  return (
    <Dialog
      title={t.title}
      {...(view !== null || trouble !== null ? { confirm: t.confirm } : {})}
      onConfirm={() => onUndo(choice)}
      onClose={onClose}
    >
      {view === null && trouble === null && (
        <p className="quiet fade-in-late">{changesStrings.reading}</p>
      )}
      {trouble !== null && <p className="quiet">{trouble}</p>}
      {view !== null && !canFiles && <p className="quiet">{t.nothing}</p>}
      {canFiles && <Choices chosen={chosen} onChoose={setChosen} />}
      {view !== null && choice !== "conversation" && <Plan view={view} />}
      {view !== null && view.effects.length > 0 && <Effects effects={view.effects} />}
    </Dialog>
  );
}

interface ChoicesProps {
  readonly chosen: UndoChoice;
  readonly onChoose: (choice: UndoChoice) => void;
}

function Choices({ chosen, onChoose }: ChoicesProps) {
  const name = useId();
  const choice = (value: UndoChoice, label: string, hint?: string) => (
    <label className="undo-choice">
      <input type="radio" name={name} checked={chosen === value} onChange={() => onChoose(value)} />
      <span>
        {label}
        {hint !== undefined && <span className="quiet"> {hint}</span>}
      </span>
    </label>
  );
  return (
    <fieldset className="undo-choices">
      <legend className="hidden-text">{t.what}</legend>
      {choice("both", t.both)}
      {choice("files", t.files, t.filesHint)}
      {choice("conversation", t.conversation, t.conversationHint)}
    </fieldset>
  );
}

function Plan({ view: { files, more, missing } }: { readonly view: FileChangesView }) {
  return (
    <section className="undo-plan" aria-label={t.filesTitle(files.length + more)}>
      <h3>{t.filesTitle(files.length + more)}</h3>
      <ul>
        {files.map(({ path, change, undo }) => (
          <li key={path} className={undo === "restore" || undo === "none" ? "" : "stays"}>
            <span className="changed-path" dir="auto">
              {revealInvisible(path)}
            </span>
            <span className="quiet">{undo === "restore" ? t.becomes[change] : t.plan[undo]}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p className="quiet">{changesStrings.more(more)}</p>}
      {missing.map((reason) => (
        <p key={reason} className="quiet">
          {changesStrings.missing[reason]}
        </p>
      ))}
    </section>
  );
}

function Effects({ effects }: { readonly effects: FileChangesView["effects"] }) {
  return (
    <section className="undo-plan" aria-label={t.effectsTitle}>
      <h3>{t.effectsTitle}</h3>
      <ul>
        {effects.map(({ kind, tool, text }, index) => (
          <li key={index}>
            <span className="quiet">{kind === "tool" ? tool : t.effects[kind]}</span>
            <span className="changed-path" dir="auto">
              {revealInvisible(text)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
