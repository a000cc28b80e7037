import type { FileChangesView, SessionId } from "@holdfast/protocol";
// Its styles come with it.
// oxlint-disable-next-line import/no-unassigned-import
import "../styles/changes.css";
import { useApp } from "../app-context.ts";
import { changesStrings } from "../strings/changes.ts";
import { Panel } from "../ui/panel.tsx";
import { textOfComments, useComments } from "./comments.ts";
import { FileDiffView } from "./file-diff.tsx";
import { type ChangesRange, useChanges } from "./use-changes.ts";

interface ChangesPanelProps {
  readonly id: SessionId;
  readonly range: ChangesRange;
  readonly onSent: () => void;
  readonly onClose: () => void;
}

const t = changesStrings;
/** Of more files the diffs are drawn when they are opened. */
const openFiles = 8;

/** What a turn changed in files, to read and to comment on. */
export function ChangesPanel({ id, range, onSent, onClose }: ChangesPanelProps) {
  const { view, trouble } = useChanges(id, range);
  return (
    <Panel title={t.title} onClose={onClose}>
      {trouble !== null && <p className="quiet">{trouble}</p>}
      {view === null && trouble === null && <p className="quiet fade-in-late">{t.reading}</p>}
      {view !== null && <Changes id={id} view={view} onSent={onSent} />}
    </Panel>
  );
}

interface ChangesProps {
  readonly id: SessionId;
  readonly view: FileChangesView;
  readonly onSent: () => void;
}

function Changes({ id, view, onSent }: ChangesProps) {
  const { unsent } = useApp();
  const [comments, setComments] = useComments(id);
  const { files, more, missing } = view;

  function send(): void {
    unsent.send(id, { text: textOfComments(comments), attachments: [], mode: "queue" });
    setComments([]);
    onSent();
  }

  return (
    <>
      {files.length === 0 && <p className="quiet">{t.none}</p>}
      {missing.map((reason) => (
        <p key={reason} className="quiet">
          {t.missing[reason]}
        </p>
      ))}
      <div className="changed-files">
        {files.map((file, index) => (
          <FileDiffView
            key={file.path}
            file={file}
            startsOpen={index < openFiles}
            comments={comments.filter(({ path }) => path === file.path)}
            onAdd={(comment) => setComments([...comments, comment])}
            onRemove={(removed) => setComments(comments.filter((each) => each !== removed))}
          />
        ))}
      </div>
      {more > 0 && <p className="quiet">{t.more(more)}</p>}
      {comments.length > 0 && (
        <div className="send-comments">
          <button type="button" className="button primary" onClick={send}>
            {t.comment.send(comments.length)}
          </button>
          <p className="quiet">{t.comment.waiting}</p>
        </div>
      )}
    </>
  );
}
