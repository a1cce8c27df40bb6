import loci.common.DebugTools;
import loci.common.DataTools;
import loci.formats.FormatException;
import loci.formats.FormatTools;
import loci.formats.ImageReader;

/** What Bio-Formats reads of each file: "name, its size in x, y, c, z, t, a number for each plane", by tabs. */
public class BioFormatsPlanes {
    static double sum(ImageReader reader, int plane) throws Exception {
        byte[] bytes = reader.openBytes(plane);
        int type = reader.getPixelType(), size = FormatTools.getBytesPerPixel(type);
        double sum = 0;
        for (int k = 0; k < bytes.length / size; k++) {
            long bits = DataTools.bytesToLong(bytes, k * size, size, reader.isLittleEndian());
            double value = type == FormatTools.FLOAT ? Float.intBitsToFloat((int) bits) : bits;
            sum += value * (k % 97 + 1);
        }
        return sum;
    }

    public static void main(String[] names) throws Exception {
        DebugTools.setRootLevel("OFF");
        for (String name : names) {
            StringBuilder line = new StringBuilder(name);
            try (ImageReader reader = new ImageReader()) {
                reader.setGroupFiles(false);
                reader.setId(name);
                line.append('\t').append(reader.getSizeX()).append(' ').append(reader.getSizeY());
                line.append(' ').append(reader.getSizeC()).append(' ').append(reader.getSizeZ());
                line.append(' ').append(reader.getSizeT()).append('\t');
                for (int t = 0; t < reader.getSizeT(); t++)
                    for (int z = 0; z < reader.getSizeZ(); z++)
                        for (int c = 0; c < reader.getSizeC(); c++)
                            line.append(sum(reader, reader.getIndex(z, c, t))).append(' ');
            } catch (FormatException e) {
                line.append("\tunreadable");
            }
            System.out.println(line);
        }
    }
}
