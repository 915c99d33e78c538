import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
const MAX_COLORS = 256
/** Number of background colors: the most frequent colors. The palette keeps all of them, even if two look equal. */
const GROUNDS = 12
/** Two colors look equal if the sum of the squared differences of red, green and blue is below this value. */
const SAME = 300

/** Returns the pixels of a PNG as RGBA in base64. The browser executes this function. */
export const READ_PIXELS = `async (picture) => {
  const image = new Image()
  image.src = 'data:image/png;base64,' + picture
  await image.decode()
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d')
  canvas.drawImage(image, 0, 0)
  const { data } = canvas.getImageData(0, 0, image.width, image.height)
  return btoa(Array.from(data, (value) => String.fromCharCode(value)).join(''))
}`

/**
 * Encodes opaque RGBA pixels as a PNG with a palette: the background colors and other frequent colors. Each color outside
 * the palette becomes the nearest color of the palette.
 */
export function smallPng(pixels: Uint8Array, width: number): Buffer {
  const height = pixels.length / 4 / width
  const colors = new Int32Array(width * height)
  const counts = new Map<number, number>()
  for (let at = 0; at < colors.length; at++) {
    const color = ((pixels[at * 4] ?? 0) << 16) | ((pixels[at * 4 + 1] ?? 0) << 8) | (pixels[at * 4 + 2] ?? 0)
    colors[at] = color
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color)
  const palette = frequent.slice(0, GROUNDS)
  for (const color of frequent.slice(GROUNDS))
    if (palette.length < MAX_COLORS && palette.every((one) => distance(one, color) >= SAME)) palette.push(color)
  const places = new Map(frequent.map((color) => [color, nearest(palette, color)]))
  // Each row begins with its filter type: none.
  const rows = Buffer.alloc((width + 1) * height)
  for (const [at, color] of colors.entries()) rows[at + Math.floor(at / width) + 1] = places.get(color) ?? 0
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits per pixel, with a palette.
  header.set([8, 3, 0, 0, 0], 8)
  const entries = Buffer.from(palette.flatMap(channels))
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', entries),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const channels = (color: number): number[] => [color >> 16, (color >> 8) & 255, color & 255]

function distance(one: number, other: number): number {
  const values = channels(other)
  return channels(one).reduce((sum, value, at) => sum + (value - (values[at] ?? 0)) ** 2, 0)
}

function nearest(palette: readonly number[], color: number): number {
  const distances = palette.map((one) => distance(one, color))
  return distances.indexOf(Math.min(...distances))
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}
