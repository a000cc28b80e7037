import { strings } from "../strings/strings.ts";

interface PdfFrameProps {
  readonly src: string;
  readonly name: string;
}

/** A PDF, where the browser shows one in a page: those of many phones do not. */
export function PdfFrame({ src, name }: PdfFrameProps) {
  if (!navigator.pdfViewerEnabled)
    return (
      <div className="empty-state">
        <p>{strings.files.noPdfViewer}</p>
        <a className="button" href={src} target="_blank" rel="noreferrer">
          {strings.files.openPdf}
        </a>
      </div>
    );
  return (
    // A browser shows no PDF in a sandboxed frame; the host makes sure that it is one.
    // oxlint-disable-next-line react/iframe-missing-sandbox
    <iframe className="viewer-frame" src={src} title={strings.files.preview(name)} />
  );
}
