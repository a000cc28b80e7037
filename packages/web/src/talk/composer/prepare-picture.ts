/** Providers refuse pictures of more than 5 MB. */
const maxPictureBytes = 4 * 1024 * 1024;
/** No model looks at more detail than this. */
const maxSidePixels = 3_072;
/** What models take. Phones also make others, which their own browser can read. */
const modelTypes = /^image\/(?:png|jpeg|gif|webp)$/;
const convertible = /^image\/(?:heic|heif|avif|bmp|tiff|png|jpeg|webp)$/;

/** A picture that models can take, made smaller if it is too large for them. Any other file stays as it is. */
export async function preparePicture(file: File): Promise<File> {
  if (!convertible.test(file.type)) return file;
  if (modelTypes.test(file.type) && file.size <= maxPictureBytes) return file;
  try {
    const picture = await createImageBitmap(file);
    const smaller = await drawSmaller(picture);
    picture.close();
    if (smaller === null) return file;
    return new File([smaller], jpegName(file.name), { type: smaller.type });
  } catch {
    // This browser cannot read it. The host keeps it as a file.
    return file;
  }
}

async function drawSmaller(picture: ImageBitmap): Promise<Blob | null> {
  const scale = Math.min(1, maxSidePixels / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(picture.width * scale);
  canvas.height = Math.round(picture.height * scale);
  const drawing = canvas.getContext("2d");
  if (drawing === null) return null;
  // A JPEG has no transparency.
  drawing.fillStyle = "white";
  drawing.fillRect(0, 0, canvas.width, canvas.height);
  drawing.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.9));
}

function jpegName(name: string): string {
  return `${name.replace(/\.[^.]+$/, "")}.jpg`;
}
