import { useEffect, useRef, useState } from "react";
import { type LineKind, readShown, type ShownText } from "@holdfast/client";
import type { LiveView } from "@holdfast/protocol";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { withWorkspaceName } from "../transcript/tool-details.tsx";

type OpenApproval = LiveView["approvals"][number];

const maxPieceLines = 4;
const maxPieceLength = 240;

/** In pieces that are small enough to be in view as a whole on a phone. */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let lines = 0;
  let piece = "";
  const end = (): void => {
    if (piece !== "") pieces.push(piece);
    [piece, lines] = ["", 0];
  };
  for (const line of text.split(/(?<=\n)/)) {
    if (lines === maxPieceLines || piece.length + line.length > maxPieceLength) end();
    for (let at = 0; at < line.length; at += maxPieceLength) {
      if (piece.length >= maxPieceLength) end();
      piece += line.slice(at, at + maxPieceLength);
    }
    lines += 1;
  }
  end();
  return pieces;
}

interface PieceLine {
  readonly kind: LineKind;
  readonly text: string;
}

/** The lines of each piece, with the kind of the whole line even where a piece begins in the middle of one. */
function colourPieces(pieces: readonly string[], kindOf: ShownText["kindOf"]): PieceLine[][] {
  const lines = pieces.join("").split("\n").map(kindOf);
  let line = 0;
  return pieces.map((piece) =>
    piece.split(/(?<=\n)/).map((text) => {
      const kind = lines[line] ?? "same";
      if (text.endsWith("\n")) line += 1;
      return { kind, text };
    }),
  );
}

interface ShownCallProps {
  readonly approval: OpenApproval;
  /** Called once, when every part of the call has been in view. */
  readonly onSeen: () => void;
}

/**
 * The whole call as the host describes it. Nobody can allow what they were not shown, so it reports when all of it has
 * been in view.
 */
export function ShownCall({ approval, onSeen }: ShownCallProps) {
  const { input, place, name } = approval;
  const shown = approval.shown ?? JSON.stringify(input, null, 2);
  const { heading, body, kindOf } = readShown(name, withWorkspaceName(shown, place));
  const pieces = piecesOf(revealInvisible(body));
  const container = useRef<HTMLDivElement>(null);
  const [unseen, setUnseen] = useState(pieces.length);

  const { length } = pieces;
  useEffect(() => {
    if (length === 0) return;
    const targets = [...(container.current?.querySelectorAll("[data-piece]") ?? [])];
    const waiting = new Set<Element>(targets);
    // The edges of a piece may be cut by a pixel.
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          waiting.delete(target);
          observer.unobserve(target);
        }
        setUnseen(waiting.size);
        if (waiting.size === 0) onSeen();
      },
      { threshold: 0.9 },
    );
    for (const target of targets) observer.observe(target);
    return () => observer.disconnect();
  }, [length, onSeen]);

  return (
    <>
      <div ref={container} className="tool-part">
        <div className="tool-label">
          {heading !== "" && (
            <span data-piece dir="auto">
              {revealInvisible(heading)}
            </span>
          )}
          <CopyButton text={shown} label={strings.common.copy} />
        </div>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre className="approval-shown" dir="ltr" tabIndex={0}>
          {colourPieces(pieces, kindOf).map((lines, index) => (
            <span key={index} data-piece>
              {lines.map(({ kind, text }, at) => (
                <span key={at} className={kind}>
                  {text}
                </span>
              ))}
            </span>
          ))}
        </pre>
      </div>
      {unseen > 0 && <UnseenHint />}
    </>
  );
}

const hintDelayMs = 400;

/** Not at once: what fits into the view is seen before anybody could read this, and nothing should move then. */
function UnseenHint() {
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), hintDelayMs);
    return () => clearTimeout(timer);
  }, []);
  return isShown ? (
    <p className="approval-more" role="status">
      {strings.approval.unseen}
    </p>
  ) : null;
}

const shownHashLength = 19;

/** What a yes is bound to besides the call itself. */
export function LoadedFiles({ approval: { files = [] } }: { approval: OpenApproval }) {
  if (files.length === 0) return null;
  return (
    <div className="approval-files">
      <span className="quiet">{strings.approval.files}</span>
      <ul>
        {files.map(({ path, hash }) => (
          <li key={path}>
            <code dir="ltr">{revealInvisible(path)}</code>{" "}
            <span className="quiet">{hash?.slice(0, shownHashLength)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
