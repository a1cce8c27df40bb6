import ij.ImagePlus;
import ij.io.Opener;
import ij.process.ImageProcessor;

/** What ImageJ reads of each file: "name, its size in x, y, c, z, t, a number for each plane", by tabs. */
public class ImageJPlanes {
    public static void main(String[] names) {
        for (String name : names) {
            ImagePlus image = new Opener().openImage(name);
            if (image == null) {
                System.out.println(name + "\tunreadable");
                continue;
            }
            StringBuilder line = new StringBuilder(name);
            line.append('\t').append(image.getWidth()).append(' ').append(image.getHeight());
            line.append(' ').append(image.getNChannels()).append(' ').append(image.getNSlices());
            line.append(' ').append(image.getNFrames()).append('\t');
            for (int i = 1; i <= image.getStackSize(); i++) {
                ImageProcessor plane = image.getStack().getProcessor(i);
                double sum = 0;
                for (int k = 0; k < plane.getPixelCount(); k++)
                    sum += plane.getf(k) * (k % 97 + 1);
                line.append(sum).append(' ');
            }
            System.out.println(line);
        }
    }
}
